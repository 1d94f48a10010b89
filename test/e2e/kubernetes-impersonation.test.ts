/**
 * `kubectl --as` through Stonegate at a real kube-apiserver: a user who may impersonate directly may do so
 * through Stonegate, and a user who may not is refused with the API server's message.
 */
import t, { type Test } from 'tap';
import type { Reply } from '../support/https-client.ts';
import { missingKubernetes, NEWEST, OLDEST } from '../support/kubernetes/programs.ts';
import { sameResponse } from '../support/kubernetes/same-response.ts';
import { startKubernetesSite } from '../support/kubernetes/site.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const PODS = '/api/v1/namespaces/acme/pods';
const WHO = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

const IMPERSONATE = [
  { apiGroups: [''], resources: ['users'], resourceNames: ['acme:bob'], verbs: ['impersonate'] },
  { apiGroups: [''], resources: ['groups'], resourceNames: ['developers'], verbs: ['impersonate'] },
  { apiGroups: [''], resources: ['serviceaccounts'], resourceNames: ['robot'], verbs: ['impersonate'] },
  {
    apiGroups: ['authentication.k8s.io'],
    resources: ['uids', 'userextras/example.com/why'],
    verbs: ['impersonate'],
  },
];

type Impersonation = Readonly<Record<string, string | readonly string[]>>;

const ALLOWED: Readonly<Record<string, Impersonation>> = {
  'another user': { 'impersonate-user': 'acme:bob' },
  'a user in a group': { 'impersonate-user': 'acme:bob', 'impersonate-group': 'developers' },
  'a user with a uid': { 'impersonate-user': 'acme:bob', 'impersonate-uid': 'uid-of-bob' },
  'a user with an extra': { 'impersonate-user': 'acme:bob', 'impersonate-extra-example.com%2fwhy': 'a test' },
  'a service account': { 'impersonate-user': 'system:serviceaccount:acme:robot' },
};

const REFUSED: Readonly<Record<string, Impersonation>> = {
  'a user that was not granted': { 'impersonate-user': 'acme:carol' },
  'a group that was not granted': {
    'impersonate-user': 'acme:bob',
    'impersonate-group': ['developers', 'operators'],
  },
  'a service account that was not granted': { 'impersonate-user': 'system:serviceaccount:acme:builder' },
  'an extra that was not granted': { 'impersonate-user': 'acme:bob', 'impersonate-extra-scopes': 'all' },
};

/** Of a review of oneself, without what only Stonegate adds or only a certificate brings. */
function whoOf({ body }: Reply) {
  const review: {
    status: { userInfo: { username: string; uid?: string; groups: string[]; extra?: object } };
  } = JSON.parse(body);
  const { username, uid, groups, extra = {} } = review.status.userInfo;
  const own = /^stonegate\.dev\/|^authentication\.kubernetes\.io\//;
  return {
    username,
    uid,
    groups: groups.filter((group) => !group.startsWith('stonegate:')).sort(),
    extra: Object.fromEntries(Object.entries(extra).filter(([key]) => !own.test(key))),
  };
}

/** Stonegate adds causes to `details`: its own code and the audit ID. */
function refusalOf({ body }: Reply) {
  const status: { code: number; reason: string; message: string; details: { causes?: unknown } } =
    JSON.parse(body);
  const { causes, ...details } = status.details;
  return { code: status.code, reason: status.reason, message: status.message, details };
}

for (const release of [OLDEST, NEWEST] as const)
  t.test(`--as at a kube-apiserver of ${release}`, { skip: missingKubernetes(release) }, async (t: Test) => {
    const configuration = { authentication: { impersonationExtraKeys: ['example.com/why', 'scopes'] } };
    const site = await startKubernetesSite(t, { release, configuration });
    const { kubernetes, stonegate, letWork } = site;
    await letWork('acme', 'acme:bob', 'system:serviceaccount:acme:robot');
    const bind = async (name: string, user: string, rules: readonly object[]) => {
      await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name }, rules });
      await kubernetes.create(`${RBAC}/clusterrolebindings`, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
      });
    };
    await bind('acts-as-bob', 'acme:alice', IMPERSONATE);
    const token = stonegate.keystoneToken('alice');
    const alice = { token, credential: await site.direct(token) };
    const carolsToken = site.newcomer('carol');
    const carol = { token: carolsToken, credential: await site.direct(carolsToken) };

    for (const [what, headers] of Object.entries(ALLOWED))
      await t.test(`${what}, granted`, async (t) => {
        const list = await sameResponse(t, site, alice, PODS, { headers });
        t.equal(list.status, 200, list.body);
        const body = '{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}';
        const review = {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body,
        };
        const direct = await kubernetes.ask(alice.credential, WHO, review);
        t.same(whoOf(await stonegate.ask(token, WHO, review)), whoOf(direct));
      });

    for (const [what, headers] of Object.entries(REFUSED))
      await t.test(`${what} is refused`, async (t) => {
        const reply = await stonegate.ask(token, PODS, { headers });
        t.same(refusalOf(reply), refusalOf(await kubernetes.ask(alice.credential, PODS, { headers })));
        t.equal(reply.status, 403);
      });

    await t.test('without any right', async (t) => {
      for (const headers of Object.values(ALLOWED)) {
        const [through, direct] = [
          refusalOf(await stonegate.ask(carol.token, PODS, { headers })),
          refusalOf(await kubernetes.ask(carol.credential, PODS, { headers })),
        ];
        t.equal(through.code, 403);
        t.same(through, direct, 'in the same words');
      }
    });

    await t.test('the impersonated user’s rights count, not the caller’s', async (t) => {
      const headers = { 'impersonate-user': 'acme:bob' };
      t.equal((await sameResponse(t, site, alice, PODS)).status, 403);
      const secrets = '/api/v1/namespaces/default/secrets';
      t.match(await sameResponse(t, site, alice, secrets, { headers }), {
        status: 403,
        body: /User \\"acme:bob\\" cannot list resource \\"secrets\\"/,
      });
    });
  });
