import t from 'tap';
import { parse } from 'yaml';
import { createWhoCanHandler } from '../../../../src/features/who-can/handle-who-can.ts';
import type { KeystoneNames } from '../../../../src/features/who-can/keystone-names.ts';
import type { WhoCanStatus } from '../../../../src/features/who-can/who-can-v1alpha1.ts';
import type { StoredObject } from '../../../../src/kubernetes/rbac-v1.ts';
import { serveRequest } from '../../../../src/proxy/serve-request.ts';
import type { Identity } from '../../../../src/tenancy/identity.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { accessIndexOf, unsyncedAccessIndex } from '../../../support/access-index.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { alice, fakePipeline, openMode } from '../../../support/fake-pipeline.ts';
import { ownAPIHandler } from '../../../support/own-api.ts';
import { rule } from '../../../support/policy-rule.ts';
import { clusterRole, clusterRoleBinding, group, rbacObjects, user } from '../../../support/rbac-objects.ts';
import { eachRow } from '../../../support/rows.ts';
import { tokenScope } from '../../../support/token-scope.ts';

const V1 = '/apis/stonegate.dev/v1alpha1';
const local = { kind: 'LocalResourceAccessReview', apiVersion: 'stonegate.dev/v1alpha1' };
const cluster = { kind: 'ResourceAccessReview', apiVersion: 'stonegate.dev/v1alpha1' };
const SECRETS = { verb: 'get', resource: 'secrets' };
const ADMIN = [rule('*', '*', '*')];
const MASTERS = 'system:masters';
interface Given {
  readonly objects?: readonly StoredObject[];
  readonly site?: ReturnType<typeof accessIndexOf>;
  readonly keystone?: KeystoneNames;
  /** The namespace of a local review. */
  readonly place?: string;
  readonly identity?: Identity;
  /** The user's tenant, if the API server has tenants: `system` is the tenant of operators. */
  readonly arktos?: string;
  /** The mode in front of an API server without tenants. */
  readonly mode?: typeof openMode;
}

async function post(body: string, given: Given = {}) {
  const { objects = [], place, identity = alice, arktos } = given;
  const { access } = given.site ?? accessIndexOf(...objects);
  const mode =
    arktos === undefined
      ? (given.mode ?? openMode)
      : {
          ...openMode,
          tenantOf: () => toTenantName(arktos),
          reviewTenant: () => toTenantName(arktos),
          isSystem: () => arktos === 'system',
        };
  const [kind, path] =
    place === undefined
      ? (['ResourceAccessReview', 'resourceaccessreviews'] as const)
      : (['LocalResourceAccessReview', `namespaces/${place}/localresourceaccessreviews`] as const);
  const handler = createWhoCanHandler(kind, {
    ...{ access, mode, ownUserName: undefined, keystone: given.keystone },
    clock: createFakeClock(),
    limits: { bodyBytes: 4_096, bodyTimeout: 1_000 },
  });
  const exchange = fakeExchange({
    ...{ method: 'POST', target: `${V1}/${path}`, body },
    headers: [['Authorization', 'Bearer secret-token']],
  });
  const pipeline = fakePipeline({
    mode,
    handlers: ownAPIHandler({ resourceaccessreviews: handler, localresourceaccessreviews: handler }),
    authenticators: [{ name: 'fake', authenticate: async () => identity }],
  });
  await serveRequest(exchange, pipeline);
  return exchange.response;
}

async function review(spec: object, given: Given = {}): Promise<WhoCanStatus> {
  const kind = given.place === undefined ? cluster : local;
  const response = await post(JSON.stringify({ ...kind, spec }), given);
  if (response.status !== 201) throw new Error(`${response.status} ${response.text}`);
  const { status }: { status: WhoCanStatus } = JSON.parse(response.text);
  return status;
}

const OBJECTS = rbacObjects(`
  Namespace web
  ClusterRole admin: * * *
  ClusterRoleBinding ops: ClusterRole/admin to User acme:root, Group system:operators
  RoleBinding web/team: ClusterRole/admin to User acme:alice, ServiceAccount ci, Group keystone:project:p1:role:member`);

t.test(
  'a review names users, groups and service accounts, with the binding and the role of each',
  async (t) => {
    const status = await review(SECRETS, { objects: OBJECTS, place: 'web' });
    t.same(status.users, ['acme:root', 'acme:alice']);
    t.same(status.groups, [MASTERS, 'system:operators', 'keystone:project:p1:role:member']);
    t.same(status.namespace, 'web');
    t.match(status.revision, /^\d+$/);
    t.strictSame(
      status.grants.at(-1),
      parse(`
      subject: {kind: Group, namespace: '', name: 'keystone:project:p1:role:member'}
      by: binding
      everywhere: false
      namespace: web
      binding: {kind: RoleBinding, namespace: web, name: team}
      role: {kind: ClusterRole, namespace: '', name: admin}`),
    );
  },
);

t.test(
  'D123, D131: system:masters is first and marked as built in, also if no other subject can do it',
  async (t) => {
    const status = await review(SECRETS);
    t.strictSame(
      status,
      parse(`
      namespace: ''
      users: []
      groups: [${MASTERS}]
      serviceAccounts: []
      grants:
      - {subject: {kind: Group, namespace: '', name: ${MASTERS}}, by: builtIn, everywhere: true, namespace: ''}
      otherTenants: 0
      evaluationError: ''
      incomplete: false
      revision: '${status.revision}'
      warnings:
      - 'a subject that can do this can gain other rights by it: access tokens need +secrets for it'`),
    );
  },
);

t.test('of bindings that a user may not list, only the subjects are shown, each once', async (t) => {
  const buyers = ['plans', 'lab'].flatMap((place) =>
    rbacObjects(`RoleBinding secret-${place}/buyers: ClusterRole/admin to User acme:bob`),
  );
  for (const arktos of [undefined, 'acme']) {
    const tenant = arktos ?? '';
    const objects = [...OBJECTS, ...buyers].map((object) => ({ ...object, tenant }));
    const { grants } = await review(SECRETS, { objects, ...(arktos !== undefined && { arktos }) });
    t.strictSame(
      grants.filter(({ subject }) => subject.name === 'acme:bob'),
      parse(
        "[{subject: {kind: User, namespace: '', name: 'acme:bob'}, by: binding, everywhere: false, namespace: ''}]",
      ),
    );
    t.notMatch(JSON.stringify(grants), /secret-|"ops"|buyers/);
    t.match(
      grants.find(({ subject }) => subject.name === 'ci'),
      { binding: { name: 'team' }, role: { name: 'admin' }, namespace: 'web' },
      'alice may list the bindings of web',
    );
  }
});

t.test('D129: role bindings do not decide who can create namespaces, and a warning says so', async (t) => {
  for (const question of [
    { verb: 'create', resource: 'namespaces' },
    { verb: 'get', resource: 'nodes' },
  ]) {
    const { users, warnings } = await review({ ...question, namespace: 'web' }, { objects: OBJECTS });
    t.same(users, ['acme:root']);
    t.match(warnings, [/RoleBindings do not apply/]);
  }
});

const FOREIGN = rbacObjects(`
  Namespace web
  ClusterRole admin: * * *
  ClusterRoleBinding everybody: ClusterRole/admin to ${[
    'User globex:gina, Group stonegate:tenant:globex, Group stonegate:tenant:acme',
    'Group keystone:project:p9:role:admin, Group keystone:project:p2:role:admin',
    'Group keystone:domain:d1:role:admin, Group keystone:domain:d9:role:admin, Group keystone:group:abc',
    'ServiceAccount globex-web/robot, ServiceAccount kube-system/controller',
    'User acme:bob, User system:kube-scheduler',
  ].join(', ')}`);
const KEYSTONE: KeystoneNames = {
  scopes: async () => ({
    projects: new Map(
      Object.entries(
        parse(`
        p1: {name: web, domainID: d1}
        p2: {name: shop, domainID: d1}
        p9: {name: secret-plans, domainID: d9}`),
      ),
    ),
    domains: new Map([['d1', { name: 'acme', domainID: 'd1' }]]),
  }),
  holders: async () => [],
};

t.test(
  'D133: a user of a tenant sees the subjects of their own tenant, and the number of others',
  async (t) => {
    const status = await review(SECRETS, { objects: FOREIGN, place: 'web', keystone: KEYSTONE });
    t.same(status.users, ['acme:bob', 'system:kube-scheduler']);
    t.same(status.serviceAccounts, ['system:serviceaccount:kube-system:controller']);
    t.same(status.groups, [
      MASTERS,
      'stonegate:tenant:acme',
      'keystone:project:p2:role:admin',
      'keystone:domain:d1:role:admin',
    ]);
    t.equal(status.otherTenants, 6);
    t.notMatch(JSON.stringify(status), /globex|gina|p9|d9|secret-plans|abc/);
  },
);

t.test('D133: a name without the prefix of the tenant belongs to another tenant', async (t) => {
  const objects = rbacObjects(`
    Namespace web
    ClusterRole admin: get secrets
    RoleBinding web/foreign: ClusterRole/admin to User gina@globex.com, User globex-gina, User acme, Group globex-finance
    RoleBinding web/others: ClusterRole/admin to Group oidc:globex:ops, Group acme:finance, Group system:serviceaccounts:globex-web
    RoleBinding web/own: ClusterRole/admin to User acme:alice, User acme:bob, Group keystone:project:p1, Group system:nodes`);
  const status = await review(SECRETS, { objects, keystone: KEYSTONE });
  t.same(status.users, ['acme:alice', 'acme:bob']);
  t.same(status.groups, [MASTERS, 'keystone:project:p1', 'system:nodes']);
  t.equal(status.otherTenants, 7);
});

t.test('D133: users of an issuer without a prefix see only their own name and groups', async (t) => {
  const groups = ['finance', 'system:authenticated'];
  const mode = { ...openMode, userOf: () => ({ username: 'ann@acme.com', uid: '', groups, extra: {} }) };
  const identity: Identity = { ...alice, subject: { kind: 'claim', name: 'ann@acme.com' } };
  const reviewIn = (rules: string) =>
    review(SECRETS, {
      objects: rbacObjects(`
        Namespace web
        ClusterRole bound: ${rules}
        RoleBinding web/team: ClusterRole/bound to User gina@globex.com, User ann@acme.com, Group finance, Group globex-finance`),
      mode,
      identity,
    });
  const status = await reviewIn('get secrets');
  t.same(status.users, ['ann@acme.com']);
  t.same(status.groups, [MASTERS, 'finance']);
  t.equal(status.otherTenants, 2);
  const administrator = await reviewIn('* * *');
  t.same(administrator.users, ['gina@globex.com', 'ann@acme.com'], 'she may list the binding');
  t.equal(administrator.otherTenants, 0);
});

t.test(
  'D133: arktos: operators of the system tenant count as others, users of other tenants not at all',
  async (t) => {
    const objects = [
      ...rbacObjects(
        `ClusterRole admin: * * *
        RoleBinding web/team: ClusterRole/admin to User acme:alice, User globex:gina, User system:x`,
        'acme',
      ),
      ...rbacObjects(
        `ClusterRole root: * * *
        ClusterRoleBinding ops: ClusterRole/root to User system:dora, Group ${MASTERS}
        RoleBinding web/leak: ClusterRole/root to User system:max`,
        'system',
      ),
      ...rbacObjects(
        `ClusterRole admin: * * *
        ClusterRoleBinding own: ClusterRole/admin to User globex:gina`,
        'globex',
      ),
    ];
    const status = await review(SECRETS, { objects, place: 'web', arktos: 'acme' });
    t.same(status.users, ['acme:alice']);
    t.equal(status.otherTenants, 2);
    const system = await review(SECRETS, { objects, arktos: 'system' });
    t.same(system.users, ['system:dora', 'system:max']);
    t.equal(system.otherTenants, 0);
  },
);

t.test('a review of a stale index is incomplete, and names no binding', async (t) => {
  const site = accessIndexOf(...OBJECTS);
  site.becomeStale();
  const { grants, incompleteReason } = await review(SECRETS, { site, place: 'web' });
  t.match(incompleteReason, /no news/);
  t.ok(grants.every(({ binding, role: granted }) => binding === undefined && granted === undefined));
  const place = grants.find(({ subject }) => subject.name === 'acme:alice')?.namespace;
  t.equal(place, 'web', 'the namespace is the one that was asked about');
});

t.test('an index that has never been synced causes a 503', async (t) => {
  const response = await post(JSON.stringify({ ...cluster, spec: SECRETS }), { site: unsyncedAccessIndex() });
  t.match(response.json(), { code: 503, details: { causes: [{ message: 'AccessIndexUnavailable' }] } });
});

t.test('a review that names no action, or one that it may not, is refused', async (t) => {
  await eachRow(
    `
    cluster | {"resource":"secrets"}
    cluster | {"verb":"get","resource":"secrets","path":"/x"}
    cluster | {"verb":"get","path":"secrets"}
    cluster | {"verb":"get","resource":"secrets","secretField":1}
    local   | {"verb":"get","path":"/secret"}`,
    async (scope, spec) => {
      const isLocal = scope === 'local';
      const body = { ...(isLocal ? local : cluster), spec: JSON.parse(spec) };
      const response = await post(JSON.stringify(body), isLocal ? { place: 'web' } : {});
      t.match(response.json(), { code: 400, details: { causes: [{ message: 'BodyMalformed' }] } }, spec);
      t.notMatch(response.text, /secretField/);
    },
  );
});

t.test('a local review is about the namespace of its path', async (t) => {
  const inWeb = (changes: object, spec: object = {}) =>
    post(JSON.stringify({ ...local, ...changes, spec: { ...SECRETS, ...spec } }), { place: 'web' });
  for (const metadata of [{ namespace: 'web' }, {}])
    t.equal((await inWeb({ metadata }, { namespace: 'web' })).status, 201);
  const message = 'the namespace of the provided object does not match the namespace sent on the request';
  t.match((await inWeb({ metadata: { namespace: 'other' } })).json(), { code: 400, message });
  const invalid = { code: 422, reason: 'Invalid', details: { causes: [{ field: 'spec.namespace' }] } };
  t.match((await inWeb({}, { namespace: 'other' })).json(), invalid);
});

t.test('a review lists at most ten thousand subjects and people, and says so', async (t) => {
  const users = Array.from({ length: 6_000 }, (_, at) => user(`u${at}`));
  const others = Array.from({ length: 6_000 }, (_, at) => group(`g${at}`));
  const many = [
    clusterRole('admin', ADMIN),
    clusterRoleBinding('all', 'ClusterRole/admin', [group('system:authenticated')]),
    clusterRoleBinding('users', 'ClusterRole/admin', users),
    clusterRoleBinding('groups', 'ClusterRole/admin', others),
  ];
  const status = await review(SECRETS, { objects: many });
  const listed = status.users.length + status.groups.length + status.serviceAccounts.length;
  t.equal(listed, 10_001, 'and system:masters');
  t.match(status, { incomplete: true, incompleteReason: /more than 10000 grants/ });
  const ids = Array.from({ length: 3 }, (_, at) => `p${at}`);
  const roles = ids.map((id) =>
    clusterRoleBinding(id, 'ClusterRole/admin', [group(`keystone:project:${id}`)]),
  );
  const keystone: KeystoneNames = {
    scopes: async () => ({
      projects: new Map(ids.map((id) => [id, { name: id, domainID: 'd' }])),
      domains: new Map(),
    }),
    holders: async () => Array.from({ length: 4_000 }, (_, at) => ({ user: `h${at}`, role: 'member' })),
  };
  const objects = [...many.slice(0, 2), ...roles];
  const people = await review({ ...SECRETS, people: true }, { objects, keystone });
  t.equal(people.grants.flatMap(({ subject }) => subject.people ?? []).length, 10_000);
  t.match(people, { incomplete: true, incompleteReason: /people who hold the roles, the first 10000/ });
});

t.test('D128: an unknown verb is answered', async (t) => {
  const { users, warnings } = await review({ verb: 'view', resource: 'projects' }, { objects: OBJECTS });
  t.same(users, ['acme:root', 'acme:alice']);
  t.same(warnings, [], 'whether a rule of another user names a verb is not revealed');
});

t.test('a review by an access token names no binding that its scope does not let it list', async (t) => {
  const bindingsFor = async (scopes: string) => {
    const asking = { verbs: ['create'], apiGroups: ['stonegate.dev'], resources: ['*'], namespaces: ['web'] };
    const identity = { ...alice, accessToken: tokenScope(scopes, [asking]) };
    const { grants } = await review(SECRETS, { objects: OBJECTS, place: 'web', identity });
    return new Set(grants.flatMap(({ binding }) => binding?.name ?? []));
  };
  t.same(await bindingsFor('namespace/web/read'), new Set(['team']));
  t.same(await bindingsFor('userinfo'), new Set());
});
