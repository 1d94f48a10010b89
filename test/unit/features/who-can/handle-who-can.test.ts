import t from 'tap';
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
import {
  clusterRole,
  clusterRoleBinding,
  group,
  namespace,
  roleBinding,
  serviceAccount,
  user,
} from '../../../support/rbac-objects.ts';
import { tokenScope } from '../../../support/token-scope.ts';

const V1 = '/apis/stonegate.dev/v1alpha1';
const local = { kind: 'LocalResourceAccessReview', apiVersion: 'stonegate.dev/v1alpha1' };
const cluster = { kind: 'ResourceAccessReview', apiVersion: 'stonegate.dev/v1alpha1' };
const SECRETS = { verb: 'get', resource: 'secrets' };
const ADMIN = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
const MASTERS = 'system:masters';
const ESCALATES =
  'a subject that can do this can gain other rights by it: access tokens need +secrets for it';

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
  const handler = createWhoCanHandler(
    place === undefined ? 'ResourceAccessReview' : 'LocalResourceAccessReview',
    {
      access,
      mode,
      ownUserName: undefined,
      keystone: given.keystone,
      clock: createFakeClock(),
      limits: { bodyBytes: 4_096, bodyTimeout: 1_000 },
    },
  );
  const exchange = fakeExchange({
    method: 'POST',
    target:
      place === undefined
        ? `${V1}/resourceaccessreviews`
        : `${V1}/namespaces/${place}/localresourceaccessreviews`,
    headers: [['Authorization', 'Bearer secret-token']],
    body,
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

const OBJECTS = [
  namespace('web'),
  clusterRole('admin', ADMIN),
  clusterRoleBinding('ops', 'ClusterRole/admin', [user('acme:root'), group('system:operators')]),
  roleBinding('web', 'team', 'ClusterRole/admin', [
    user('acme:alice'),
    serviceAccount('ci'),
    group('keystone:project:p1:role:member'),
  ]),
];

t.test(
  'a review names users, groups and service accounts, with the binding and the role of each',
  async (t) => {
    const status = await review(SECRETS, { objects: OBJECTS, place: 'web' });
    t.same(status.users, ['acme:root', 'acme:alice']);
    t.same(status.groups, [MASTERS, 'system:operators', 'keystone:project:p1:role:member']);
    t.same(status.namespace, 'web');
    t.match(status.revision, /^\d+$/);
    t.strictSame(status.grants.at(-1), {
      subject: { kind: 'Group', namespace: '', name: 'keystone:project:p1:role:member' },
      by: 'binding',
      everywhere: false,
      namespace: 'web',
      binding: { kind: 'RoleBinding', namespace: 'web', name: 'team' },
      role: { kind: 'ClusterRole', namespace: '', name: 'admin' },
    });
  },
);

t.test(
  'D123, D131: system:masters is first and marked as built in, also if no other subject can do it',
  async (t) => {
    const status = await review(SECRETS);
    t.strictSame(status, {
      namespace: '',
      users: [],
      groups: [MASTERS],
      serviceAccounts: [],
      grants: [
        {
          subject: { kind: 'Group', namespace: '', name: MASTERS },
          by: 'builtIn',
          everywhere: true,
          namespace: '',
        },
      ],
      otherTenants: 0,
      evaluationError: '',
      incomplete: false,
      revision: status.revision,
      warnings: [ESCALATES],
    });
  },
);

t.test('of bindings that a user may not list, only the subjects are shown, each once', async (t) => {
  const plans = roleBinding('secret-plans', 'buyers', 'ClusterRole/admin', [user('acme:bob')]);
  const more = roleBinding('secret-lab', 'buyers', 'ClusterRole/admin', [user('acme:bob')]);
  for (const arktos of [undefined, 'acme']) {
    const tenant = arktos ?? '';
    const objects = [...OBJECTS, plans, more].map((object) => ({ ...object, tenant }));
    const { grants } = await review(SECRETS, { objects, ...(arktos !== undefined && { arktos }) });
    const ofBob = grants.filter(({ subject }) => subject.name === 'acme:bob');
    t.strictSame(ofBob, [
      {
        subject: { kind: 'User', namespace: '', name: 'acme:bob' },
        ...{ by: 'binding', everywhere: false, namespace: '' },
      },
    ]);
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

const FOREIGN = [
  namespace('web'),
  clusterRole('admin', ADMIN),
  clusterRoleBinding('everybody', 'ClusterRole/admin', [
    user('globex:gina'),
    group('stonegate:tenant:globex'),
    group('stonegate:tenant:acme'),
    group('keystone:project:p9:role:admin'),
    group('keystone:project:p2:role:admin'),
    group('keystone:domain:d1:role:admin'),
    group('keystone:domain:d9:role:admin'),
    group('keystone:group:abc'),
    serviceAccount('robot', 'globex-web'),
    serviceAccount('controller', 'kube-system'),
    user('acme:bob'),
    user('system:kube-scheduler'),
  ]),
];
const KEYSTONE: KeystoneNames = {
  scopes: async () => ({
    projects: new Map([
      ['p1', { name: 'web', domainID: 'd1' }],
      ['p2', { name: 'shop', domainID: 'd1' }],
      ['p9', { name: 'secret-plans', domainID: 'd9' }],
    ]),
    domains: new Map([['d1', { name: 'acme', domainID: 'd1' }]]),
  }),
  holders: async (_kind, id) => [
    { user: `ann-${id}@acme`, role: 'admin' },
    { user: `max-${id}@acme`, role: 'member' },
  ],
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
  const foreign = [
    user('gina@globex.com'),
    user('globex-gina'),
    user('acme'),
    group('globex-finance'),
    group('oidc:globex:ops'),
    group('acme:finance'),
    group('system:serviceaccounts:globex-web'),
  ];
  const own = [user('acme:alice'), user('acme:bob'), group('keystone:project:p1'), group('system:nodes')];
  const objects = [
    namespace('web'),
    clusterRole('admin', [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'] }]),
    roleBinding('web', 'team', 'ClusterRole/admin', [...foreign, ...own]),
  ];
  const status = await review(SECRETS, { objects, keystone: KEYSTONE });
  t.same(status.users, ['acme:alice', 'acme:bob']);
  t.same(status.groups, [MASTERS, 'keystone:project:p1', 'system:nodes']);
  t.equal(status.otherTenants, foreign.length);
});

t.test('D133: users of an issuer without a prefix see only their own name and groups', async (t) => {
  const groups = ['finance', 'system:authenticated'];
  const mode = { ...openMode, userOf: () => ({ username: 'ann@acme.com', uid: '', groups, extra: {} }) };
  const identity: Identity = { ...alice, subject: { kind: 'claim', name: 'ann@acme.com' } };
  const names = [user('gina@globex.com'), user('ann@acme.com'), group('finance'), group('globex-finance')];
  const reviewIn = (rules: typeof ADMIN) =>
    review(SECRETS, {
      objects: [
        namespace('web'),
        clusterRole('bound', rules),
        roleBinding('web', 'team', 'ClusterRole/bound', names),
      ],
      mode,
      identity,
    });
  const status = await reviewIn([{ verbs: ['get'], apiGroups: [''], resources: ['secrets'] }]);
  t.same(status.users, ['ann@acme.com']);
  t.same(status.groups, [MASTERS, 'finance']);
  t.equal(status.otherTenants, 2);
  const administrator = await reviewIn(ADMIN);
  t.same(administrator.users, ['gina@globex.com', 'ann@acme.com'], 'she may list the binding');
  t.equal(administrator.otherTenants, 0);
});

t.test(
  'D133: arktos: operators of the system tenant count as others, users of other tenants not at all',
  async (t) => {
    const objects = [
      clusterRole('admin', ADMIN, { tenant: 'acme' }),
      clusterRole('root', ADMIN, { tenant: 'system' }),
      roleBinding(
        'web',
        'team',
        'ClusterRole/admin',
        [user('acme:alice'), user('globex:gina'), user('system:x')],
        'acme',
      ),
      clusterRoleBinding('ops', 'ClusterRole/root', [user('system:dora'), group(MASTERS)], 'system'),
      roleBinding('web', 'leak', 'ClusterRole/root', [user('system:max')], 'system'),
      clusterRole('admin', ADMIN, { tenant: 'globex' }),
      clusterRoleBinding('own', 'ClusterRole/admin', [user('globex:gina')], 'globex'),
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

for (const [spec, isLocal] of [
  ['{"resource":"secrets"}', false],
  ['{"verb":"get","resource":"secrets","path":"/x"}', false],
  ['{"verb":"get","path":"secrets"}', false],
  ['{"verb":"get","resource":"secrets","secretField":1}', false],
  ['{"verb":"get","path":"/secret"}', true],
] as const)
  t.test(`a ${isLocal ? 'local ' : ''}review of ${spec} is refused`, async (t) => {
    const body = { ...(isLocal ? local : cluster), spec: JSON.parse(spec) };
    const response = await post(JSON.stringify(body), isLocal ? { place: 'web' } : {});
    t.match(response.json(), { code: 400, details: { causes: [{ message: 'BodyMalformed' }] } });
    t.notMatch(response.text, /secretField/);
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
