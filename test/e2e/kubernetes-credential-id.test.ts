/**
 * The id of a token at a real kube-apiserver: it is among the user's extras, as if the API server had read the token
 * itself. With a ClusterRole of an older version, which does not name the key, users are served without it.
 */
import t, { type Test } from 'tap';
import { isObject, type JsonObject } from '../support/apiserver/json.ts';
import { eventually } from '../support/eventually.ts';
import { missingKubernetes, OLDEST } from '../support/kubernetes/programs.ts';
import { type KubernetesSite, startKubernetesSite } from '../support/kubernetes/site.ts';

const REVIEW = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const KEY = 'authentication.kubernetes.io/credential-id';

/** Of the user of a new ID token: the response's status, the token's own id and what the API server knows of it. */
async function whoIs({ stonegate }: KubernetesSite) {
  const token = await stonegate.provider.idToken('carol');
  const { jti }: { jti?: string } = JSON.parse(
    Buffer.from(token.split('.')[1] ?? '', 'base64url').toString(),
  );
  const reply = await stonegate.ask(token, REVIEW, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}',
  });
  const review: { status?: { userInfo?: { extra?: Record<string, string[]> } } } = JSON.parse(reply.body);
  return { status: reply.status, jti, known: review.status?.userInfo?.extra?.[KEY] };
}

const untilAsked = ({ stonegate }: KubernetesSite, words: RegExp) =>
  eventually(() => stonegate.logged.some((line) => words.test(line)));

function withoutKey(object: JsonObject): JsonObject {
  if (object.kind !== 'ClusterRole' || !Array.isArray(object.rules)) return object;
  const rules = object.rules.map((rule) =>
    isObject(rule) && Array.isArray(rule.resources)
      ? { ...rule, resources: rule.resources.filter((resource) => resource !== `userextras/${KEY}`) }
      : rule,
  );
  return { ...object, rules };
}

t.test('with the right to the key', { skip: missingKubernetes() }, async (t: Test) => {
  const site = await startKubernetesSite(t);
  await untilAsked(site, /what Stonegate may impersonate/);
  const { status, jti, known } = await whoIs(site);
  t.equal(status, 201);
  t.same(known, [`JTI=${jti}`]);
});

t.test(
  'without the right to the key, which the log says once',
  { skip: missingKubernetes(OLDEST) },
  async (t: Test) => {
    const site = await startKubernetesSite(t, { release: OLDEST, changed: withoutKey });
    await untilAsked(site, /omits them/);
    for (let i = 0; i < 3; i += 1) t.match(await whoIs(site), { status: 201, known: undefined });
    t.equal(site.stonegate.logged.filter((line) => line.includes('omits them')).length, 1);
  },
);
