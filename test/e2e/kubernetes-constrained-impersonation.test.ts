/**
 * Constrained impersonation (KEP-5284) at a real kube-apiserver: a user who may impersonate directly, for
 * some requests only, may do so through Stonegate for the same requests, and is refused the others in the
 * same words. Stonegate itself works with constrained rights alone.
 */
import t, { type Test } from 'tap';
import { createKubectl, findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { patched, posted, type Reply } from '../support/https-client.ts';
import { missingKubernetes, OLDEST } from '../support/kubernetes/programs.ts';
import { grant } from '../support/kubernetes/rbac.ts';
import {
  type KubernetesSite,
  type KubernetesSiteOptions,
  startKubernetesSite,
  WHOAMI,
  WHOAMI_PATH,
} from '../support/kubernetes/site.ts';
import { rule } from '../support/policy-rule.ts';

const PODS = '/api/v1/namespaces/acme/pods';
const GROUP = 'authentication.k8s.io';
const CONFIGURATION = { authentication: { impersonationExtraKeys: ['example.com/why', 'scopes'] } };
const ROBOT = 'system:serviceaccount:acme:robot';

/** Rules about some objects only. */
const named = (resourceNames: readonly string[], ...words: Parameters<typeof rule>) => ({
  ...rule(...words),
  resourceNames,
});
const USER_INFO = [
  named(['acme:bob'], 'impersonate:user-info', 'users', GROUP),
  named(['developers', 'testers'], 'impersonate:user-info', 'groups', GROUP),
  rule('impersonate:user-info', 'uids,userextras/example.com/why,userextras/scopes', GROUP),
];
const paths = (mode: string) => ({
  nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/version'],
  verbs: [`impersonate-on:${mode}:get`],
});
const listPods = (mode: string) => rule(`impersonate-on:${mode}:list`, 'pods');

/**
 * What each caller is granted for the whole cluster; `narrow` is granted the list of pods in one namespace
 * only.
 */
const GRANTS: Readonly<Record<string, readonly object[]>> = {
  narrow: [...USER_INFO, paths('user-info')],
  wholesale: [rule('impersonate:user-info', 'users,groups,userextras/*', GROUP), listPods('user-info')],
  // No right to any request itself.
  halfway: USER_INFO,
  robots: [
    named(['robot'], 'impersonate:serviceaccount', 'serviceaccounts', GROUP),
    listPods('serviceaccount'),
    listPods('user-info'),
  ],
  legacy: [
    named(['acme:bob'], 'impersonate', 'users'),
    named(['developers'], 'impersonate', 'groups'),
    named(['robot'], 'impersonate', 'serviceaccounts'),
    rule('impersonate', 'uids,userextras/example.com/why', GROUP),
  ],
  both: [...USER_INFO, listPods('user-info'), rule('impersonate', 'users,serviceaccounts')],
  none: [],
};

type Impersonation = Readonly<Record<string, string | readonly string[]>>;
const bob = (more: Impersonation = {}) => ({ 'impersonate-user': 'acme:bob', ...more });
const GROUPS = ['a', 'b', 'c', 'd'];
const IMPERSONATIONS: Readonly<Record<string, Impersonation>> = {
  'a user': bob(),
  'another user': { 'impersonate-user': 'acme:dora' },
  'a user in a group': bob({ 'impersonate-group': 'developers' }),
  'a user in two groups': bob({ 'impersonate-group': ['developers', 'testers'] }),
  'a user in a group that was not granted': bob({ 'impersonate-group': ['developers', 'operators'] }),
  'a user in many groups': bob({ 'impersonate-group': GROUPS }),
  'a user with a uid': bob({ 'impersonate-uid': 'u-1' }),
  'a user with an extra': bob({ 'impersonate-extra-example.com%2fwhy': 'a test' }),
  'a user with many extras': bob({ 'impersonate-extra-example.com%2fwhy': GROUPS }),
  'a user with an extra without a domain': bob({ 'impersonate-extra-scopes': 'all' }),
  'a service account': { 'impersonate-user': ROBOT },
  'a service account in a group': { 'impersonate-user': ROBOT, 'impersonate-group': 'developers' },
  'another service account': { 'impersonate-user': 'system:serviceaccount:acme:other' },
};
const REQUESTS = [
  [PODS],
  [`${PODS}/web`],
  ['/api/v1/namespaces/default/pods'],
  ['/api/v1/pods?watch=true&timeoutSeconds=1'],
  [`${PODS}?fieldSelector=metadata.name%3Dweb`],
  [PODS, { method: 'DELETE' }],
  ['/version'],
  ['/healthz'],
  ['/apis/apps/v1/namespaces/acme/deployments/web/scale'],
] as const;

/** Stonegate adds causes to `details`: its own code and the audit ID. */
function comparable({ status, body }: Reply) {
  if (status !== 403) return { status };
  const refusal: { message: string; reason: string; details: { causes?: unknown } } = JSON.parse(body);
  const { causes, ...details } = refusal.details;
  return { status, message: refusal.message, reason: refusal.reason, details };
}

async function bindAll({ kubernetes, letWork }: KubernetesSite) {
  await letWork('acme', 'acme:bob', ROBOT);
  for (const [name, rules] of Object.entries(GRANTS)) {
    const subjects = [`user:acme:${name}`] as const;
    await grant(kubernetes, { name: `acts-${name}`, subjects, rules });
  }
  await grant(kubernetes, {
    name: 'acts-narrow',
    namespace: 'acme',
    subjects: ['user:acme:narrow'],
    rules: [listPods('user-info')],
  });
}

async function userOf(site: KubernetesSite, name: string) {
  const token = site.newcomer(name);
  return { token, credential: await site.direct(token) };
}

/** Waits until Stonegate has discovered the API server's impersonation modes. */
async function untilAsked({ stonegate }: KubernetesSite, token: string) {
  await eventually(async () => {
    const reply = await stonegate.ask(token, PODS, { headers: bob() });
    return reply.body.includes('impersonate-on:');
  });
}

t.test('constrained impersonation', { skip: missingKubernetes() }, async (t: Test) => {
  const site = await startKubernetesSite(t, { configuration: CONFIGURATION });
  const { kubernetes, stonegate } = site;
  await bindAll(site);
  await untilAsked(site, site.newcomer('without-rights'));

  for (const name of Object.keys(GRANTS))
    await t.test(
      `by a caller with the rights "${name}" has the same results as without Stonegate`,
      async (t) => {
        const { token, credential } = await userOf(site, name);
        const allowed: string[] = [];
        for (const [what, headers] of Object.entries(IMPERSONATIONS))
          for (const [path, options] of REQUESTS) {
            const init = { ...options, headers };
            const direct = await kubernetes.ask(credential, path, init);
            const through = await stonegate.ask(token, path, init);
            const label = `${options?.method ?? 'GET'} ${path} as ${what}`;
            t.same(comparable(through), comparable(direct), label);
            if (direct.status === 200) allowed.push(label);
          }
        t.equal(
          allowed.length > 0,
          !['none', 'halfway'].includes(name),
          'some requests are allowed, if the caller has complete rights',
        );
      },
    );

  await t.test('never lets a user act as a member of system:masters or as a node', async (t) => {
    const { token, credential } = await userOf(site, 'wholesale');
    for (const headers of [
      bob({ 'impersonate-group': 'system:masters' }),
      { 'impersonate-user': 'system:node:n1' },
    ]) {
      t.equal((await kubernetes.ask(credential, PODS, { headers })).status, 403);
      t.equal((await stonegate.ask(token, PODS, { headers })).status, 403);
    }
  });

  const [binary] = findKubectls().slice(-1);
  await t.test('with kubectl', { skip: binary === undefined && NO_KUBECTL }, async (t) => {
    const { token, credential } = await userOf(site, 'narrow');
    const run = async (target: Parameters<typeof createKubectl>[2], words: readonly string[]) => {
      const kubectl = createKubectl(t, binary ?? '', target);
      const { code, stdout, stderr } = await kubectl.run(words);
      // Lines of kubectl's own log have times and process ids.
      return { code, stdout, stderr: stderr.replace(/^[EIW]\d{4} .*\n/gm, '') };
    };
    for (const [words, code] of [
      ['get pods -n acme --as acme:bob', 0],
      ['get pods -n acme --as acme:bob --as-group developers', 0],
      ['get pod web -n acme --as acme:bob', 1],
      ['get pods -n default --as acme:bob', 1],
      ['delete pod web -n acme --as acme:bob', 1],
      ['get pods -n acme --as acme:dora', 1],
      ['get --raw /version --as acme:bob', 0],
      ['auth can-i list pods -n acme --as acme:bob', 1],
    ] as const) {
      const list = words.split(' ');
      const direct = await run(
        { server: kubernetes.url, ca: kubernetes.authority.cert, ...credential },
        list,
      );
      const through = await run({ server: stonegate.url, ca: stonegate.authority.cert, token }, list);
      t.same(through, direct, `kubectl ${words}`);
      t.equal(direct.code, code, direct.stderr);
    }
  });
});

/** The user of a SelfSubjectReview, without what only Stonegate or only a certificate adds. */
function whoIn({ body }: Reply) {
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

const WITHOUT: Readonly<Record<string, KubernetesSiteOptions>> = {
  [`a kube-apiserver of ${OLDEST}, which lacks constrained impersonation`]: { release: OLDEST },
  'a kube-apiserver with the feature gate off': {
    flags: () => ['--feature-gates=ConstrainedImpersonation=false'],
  },
};
for (const [title, options] of Object.entries(WITHOUT))
  t.test(
    `C114 C115 --as works as it does directly, at ${title}`,
    { skip: missingKubernetes(options.release) },
    async (t: Test) => {
      const site = await startKubernetesSite(t, { configuration: CONFIGURATION, ...options });
      const { kubernetes, stonegate } = site;
      await bindAll(site);
      const reviewed: string[] = [];
      for (const name of ['narrow', 'both', 'legacy', 'none']) {
        const { token, credential } = await userOf(site, name);
        for (const [what, headers] of Object.entries(IMPERSONATIONS)) {
          const label = `${name}: ${what}`;
          const direct = await kubernetes.ask(credential, PODS, { headers });
          t.same(comparable(await stonegate.ask(token, PODS, { headers })), comparable(direct), label);
          if (direct.status !== 200) continue;
          const review = { ...WHOAMI, headers: { ...headers, ...WHOAMI.headers } };
          const who = whoIn(await kubernetes.ask(credential, WHOAMI_PATH, review));
          t.same(whoIn(await stonegate.ask(token, WHOAMI_PATH, review)), who, label);
          reviewed.push(label);
        }
      }
      for (const what of [
        'a user in a group',
        'a user with a uid',
        'a user with an extra',
        'a service account',
      ])
        t.ok(reviewed.includes(`legacy: ${what}`), what);
    },
  );

t.test('Stonegate with constrained rights alone', { skip: missingKubernetes() }, async (t: Test) => {
  const site = await startKubernetesSite(t, {
    configuration: CONFIGURATION,
    manifestWords: ['--constrained'],
  });
  const { stonegate, kubernetes, letWork } = site;
  await letWork('acme', 'acme:alice', 'oidc:carol@acme.example');
  const token = stonegate.keystoneToken('alice');
  const made = { metadata: { name: 'settings' } };
  const json = { 'content-type': 'application/json' };
  const MAPS = '/api/v1/namespaces/acme/configmaps';
  const one = `${MAPS}/settings`;

  await t.test('forwards users’ requests of every verb', async (t) => {
    for (const [status, path, options] of [
      [200, PODS, {}],
      [201, MAPS, posted(made)],
      [200, one, {}],
      [200, one, { method: 'PUT', headers: json, body: JSON.stringify({ ...made, data: { a: 'b' } }) }],
      [200, one, patched('{"data":{"a":"c"}}')],
      [200, `${MAPS}?watch=true&timeoutSeconds=1`, {}],
      [200, one, { method: 'DELETE' }],
      [200, `${MAPS}?labelSelector=none`, { method: 'DELETE' }],
      [200, '/version', {}],
      [200, '/api', {}],
      [200, '/openapi/v3', {}],
    ] as const)
      t.match(await stonegate.ask(token, path, options), { status }, `${options.method ?? 'GET'} ${path}`);
  });

  await t.test('forwards the id of a token too', async (t) => {
    const idToken = await stonegate.provider.idToken('carol');
    t.equal((await stonegate.ask(idToken, PODS)).status, 200);
  });

  await t.test('can never act as a service account, a node or a member of system:masters', async (t) => {
    const stolen = await ownToken(site);
    const ask = (headers: Impersonation) => kubernetes.ask({ token: stolen }, PODS, { headers });
    for (const user of ['acme:alice', 'system:kube-controller-manager'])
      t.equal((await ask({ 'impersonate-user': user })).status, 200);
    for (const headers of [
      { 'impersonate-user': ROBOT },
      { 'impersonate-user': 'system:serviceaccount:kube-system:clusterrole-aggregation-controller' },
      { 'impersonate-user': 'system:node:n1' },
      { 'impersonate-user': 'acme:alice', 'impersonate-group': 'system:masters' },
    ])
      t.equal((await ask(headers)).status, 403, JSON.stringify(headers));
    t.equal(
      (await kubernetes.ask({ token: stolen }, PODS)).status,
      403,
      'it may do nothing without impersonation',
    );
  });
});

/** The token that a thief of Stonegate's credential has. */
async function ownToken({ kubernetes }: KubernetesSite) {
  const path = '/api/v1/namespaces/stonegate/serviceaccounts/stonegate/token';
  const reply = await kubernetes.admit('POST', path, { spec: { expirationSeconds: 3_600 } });
  const request: { status: { token: string } } = JSON.parse(reply.body);
  return request.status.token;
}
