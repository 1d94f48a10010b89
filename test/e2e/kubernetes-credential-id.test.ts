/**
 * The id of a token at a real kube-apiserver: it is among the user's extras, as if the API server had read
 * the token itself. With a ClusterRole of an older version, which does not name the key, users are served
 * without it.
 */
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { isObject, type JsonObject } from '../support/apiserver/json.ts';
import { eventually } from '../support/eventually.ts';
import { missingKubernetes, OLDEST } from '../support/kubernetes/programs.ts';
import { type KubernetesSite, startKubernetesSite, WHOAMI, WHOAMI_PATH } from '../support/kubernetes/site.ts';
import { startSigningIssuer } from '../support/oidc/signing-issuer.ts';

const KEY = 'authentication.kubernetes.io/credential-id';

const issuer = await startSigningIssuer();
t.teardown(() => issuer.down());
const configuration: Record<string, object> = parse(`
  authentication:
    jwt:
      - issuer: {url: ${issuer.url}, audiences: [kubernetes]}
        claimMappings: {username: {claim: sub, prefix: 'ids:'}}
        tenant: {value: acme}`);

/** The response's status, and the id of the token as the API server knows it. */
async function whoIs({ stonegate }: KubernetesSite, jti: string) {
  const exp = Math.floor(Date.now() / 1_000) + 600;
  const token = await issuer.sign({ sub: 'carol', aud: 'kubernetes', exp, jti });
  const reply = await stonegate.ask(token, WHOAMI_PATH, WHOAMI);
  const review: { status?: { userInfo?: { extra?: Record<string, string[]> } } } = JSON.parse(reply.body);
  return { status: reply.status, known: review.status?.userInfo?.extra?.[KEY] };
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

t.test(
  'with the right to the key, the API server knows the id of the token',
  { skip: missingKubernetes() },
  async (t: Test) => {
    const site = await startKubernetesSite(t, { configuration });
    await untilAsked(site, /what Stonegate may impersonate/);
    for (const jti of ['token-1', 'token-2'])
      t.same(await whoIs(site, jti), { status: 201, known: [`JTI=${jti}`] });
  },
);

t.test(
  'without the right to the key, users are served without the id, and the log says so once',
  { skip: missingKubernetes(OLDEST) },
  async (t: Test) => {
    const site = await startKubernetesSite(t, { release: OLDEST, configuration, changed: withoutKey });
    await untilAsked(site, /omits them/);
    for (let i = 0; i < 3; i += 1)
      t.match(await whoIs(site, `token-${i}`), { status: 201, known: undefined });
    t.equal(site.stonegate.logged.filter((line) => line.includes('omits them')).length, 1);
  },
);
