import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { AccessAttributes } from '../../../../src/kubernetes/access-reviewer.ts';
import type { UserInfo } from '../../../../src/kubernetes/authentication-v1.ts';
import type {
  ResourceAttributes,
  SubjectAccessReviewStatus,
} from '../../../../src/kubernetes/authorization-v1.ts';
import type { HeaderField, HeaderList } from '../../../../src/lib/header-list.ts';
import { resolveImpersonatedUser } from '../../../../src/proxy/impersonation/act-as.ts';
import { LastModes } from '../../../../src/proxy/impersonation/impersonation-modes.ts';
import type { Limiter } from '../../../../src/proxy/limiter.ts';
import { createReasonOf, type ReasonOf } from '../../../../src/proxy/rbac-reasons.ts';
import { readRequestInfo } from '../../../../src/proxy/request/request-info.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import type { Identity } from '../../../../src/tenancy/identity.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import type { TenancyMode } from '../../../../src/tenancy/tenancy-mode.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { rule } from '../../../support/policy-rule.ts';
import { clusterRole, clusterRoleBinding, user } from '../../../support/rbac-objects.ts';

const arktos = createArktosMode({ systemTenant: 'system', domains: {} });
const shared = createSharedMode({ domains: {}, reservedNamePrefixes: ['oidc:'] });
const alice: UserInfo = {
  username: 'acme:alice',
  uid: 'u-1',
  groups: ['group1', 'system:authenticated'],
  extra: { 'alpha.kubernetes.io/identity/roles': ['admin'] },
};
const AS_BOB: HeaderField = ['Impersonate-User', 'bob'];

interface Options {
  readonly mode?: TenancyMode;
  readonly identity?: Identity;
  readonly caller?: UserInfo;
  readonly extraKeys?: readonly string[];
  /** The API server's response to a review; by default it allows everything. */
  readonly answer?: (resource: string, attributes: ResourceAttributes) => SubjectAccessReviewStatus;
  /** The path of the caller's request. */
  readonly path?: string;
  readonly limiter?: Limiter;
  /** The RBAC index, if there is one. */
  readonly reasonOf?: ReasonOf;
}

/** Resolves the impersonated user for a request of alice of acme. */
async function act(headers: HeaderList, options: Options = {}) {
  const { mode = arktos, identity = keystoneIdentity('alice'), caller = alice, extraKeys = [] } = options;
  const { answer = () => ({ allowed: true }), limiter } = options;
  const asked: AccessAttributes[] = [];
  const tenant = toTenantName('acme');
  const target = options.path ?? '/api/v1/pods';
  const scoped = {
    exchange: fakeExchange({ headers, target }),
    auditID: 'a-1',
    receivedAt: 0,
    sourceIPs: ['192.0.2.7'] as const,
    info: readRequestInfo('GET', target, mode.facts),
    identity,
    proven: identity,
    sender: { kind: 'stonegate' } as const,
    tenant,
    named: caller,
    user: caller,
  };
  const user = await resolveImpersonatedUser(scoped, {
    mode,
    extraKeys: new Set(extraKeys),
    limiter,
    constrained: false,
    lastModes: new LastModes(),
    reasonOf: options.reasonOf,
    reviewer: {
      async review(user, attributes) {
        t.equal(user, caller, 'the review is about the caller');
        asked.push(attributes);
        const resource = 'resourceAttributes' in attributes ? attributes.resourceAttributes : {};
        return answer(resource.resource ?? '', resource);
      },
      reviewSelf: () => Promise.reject(new Error('no user has an own token in this test')),
    },
  });
  return { user: user ?? caller, impersonator: user && caller, asked };
}

/** Returns what `act` throws. By default a review fails the test. */
async function refused(headers: HeaderList, options: Options = {}): Promise<StatusError> {
  const answer = (resource: string): never => {
    throw new Error(`${resource} was reviewed`);
  };
  const error: unknown = await act(headers, { answer, ...options }).then(
    () => new Error('nothing was refused'),
    (refusal: unknown) => refusal,
  );
  if (error instanceof StatusError) return error;
  throw error;
}

t.test('the original user is one line of ASCII, without fields that are empty', async (t) => {
  const caller = { username: 'acme:zoë\u2028', uid: '', groups: [], extra: {} };
  const { user } = await act([AS_BOB], { caller });
  const [value = ''] = user.extra['stonegate.dev/original-user'] ?? [];
  t.match(value, /^[\x20-\x7e]+$/);
  t.strictSame(JSON.parse(value), { username: 'acme:zoë\u2028', groups: [] });
});

t.test('C040 each value is reviewed for the caller in their tenant, as kube-apiserver would', async (t) => {
  const { asked, user } = await act(
    [
      AS_BOB,
      ['Impersonate-Uid', 'u-2'],
      ['Impersonate-Group', 'a'],
      ['Impersonate-Group', 'b'],
      ['Impersonate-Extra-Acme.example%2FReason', 'x'],
      ['Impersonate-Extra-acme.example%2freason', 'y'],
    ],
    { extraKeys: ['acme.example/reason'] },
  );
  const core = {
    tenant: 'acme',
    verb: 'impersonate',
    group: '',
    version: 'v1',
    namespace: '',
    subresource: '',
  };
  const own = { ...core, group: 'authentication.k8s.io' };
  t.strictSame(
    asked.map((question) => 'resourceAttributes' in question && { ...question.resourceAttributes }),
    [
      { ...core, resource: 'users', name: 'acme:bob' },
      { ...core, resource: 'groups', name: 'a' },
      { ...core, resource: 'groups', name: 'b' },
      { ...own, resource: 'userextras', subresource: 'acme.example/reason', name: 'x' },
      { ...own, resource: 'userextras', subresource: 'acme.example/reason', name: 'y' },
      { ...own, resource: 'uids', name: 'u-2' },
    ],
  );
  t.match(user, { uid: 'u-2', extra: { 'acme.example/reason': ['x', 'y'] } });
});

const EVERYTHING: readonly HeaderField[] = [
  AS_BOB,
  ['Impersonate-Group', 'devs'],
  ['Impersonate-Extra-scopes', 'view'],
  ['Impersonate-Uid', 'u-2'],
];
for (const [resource, words] of [
  [
    'users',
    'users "acme:bob" is forbidden: User "acme:alice" cannot impersonate resource "users" in API group "" in the tenant "acme"',
  ],
  ['groups', 'groups "devs" is forbidden: User "acme:alice" cannot impersonate resource "groups"'],
  [
    'userextras',
    'userextras.authentication.k8s.io "view" is forbidden: User "acme:alice" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io"',
  ],
  [
    'uids',
    'uids.authentication.k8s.io "u-2" is forbidden: User "acme:alice" cannot impersonate resource "uids"',
  ],
] as const)
  t.test(`C011 C013 C014 C079 without the right to one of ${resource} the request is refused`, async (t) => {
    const error = await refused(EVERYTHING, {
      extraKeys: ['scopes'],
      answer: (asked) => ({ allowed: asked !== resource }),
    });
    t.equal(error.code, 'AccessDenied');
    t.ok(error.message.startsWith(words), error.message);
  });

t.test('a review that both allows and denies is a denial', async (t) => {
  const error = await refused([AS_BOB], { answer: () => ({ allowed: true, denied: true }) });
  t.equal(error.code, 'AccessDenied');
});

const MANY_GROUPS = Array.from({ length: 63 }, (_, i): HeaderField => ['Impersonate-Group', `g${i}`]);

t.test('reviews end at the first refusal', async (t) => {
  const reviewed: string[] = [];
  await refused([AS_BOB, ...MANY_GROUPS], {
    answer: (_, { name = '' }) => {
      reviewed.push(name);
      return { allowed: name !== 'g1' };
    },
  });
  t.same(reviewed, ['acme:bob', 'g0', 'g1']);
});

t.test('one review is made at a time, and each counts against the tenant’s rate', async (t) => {
  let underWay = 0;
  const answer = () => {
    underWay += 1;
    t.equal(underWay, 1);
    queueMicrotask(() => {
      underWay -= 1;
    });
    return { allowed: true };
  };
  const limited: string[] = [];
  const limiter: Limiter = {
    admit({ tenant }) {
      limited.push(tenant);
      return undefined;
    },
  };
  await act([AS_BOB, ...MANY_GROUPS], { answer, limiter });
  t.equal(limited.length, 64);
});

t.test('C027 if one review fails, the request is refused', async (t) => {
  const error = await refused(EVERYTHING, {
    extraKeys: ['scopes'],
    answer: (asked) => {
      if (asked === 'uids') throw new StatusError('UpstreamUnavailable', 'gone');
      return { allowed: true };
    },
  });
  t.equal(error.code, 'UpstreamUnavailable');
});

t.test(
  'a tenant over its rate causes no review, and a request that is refused anyway costs nothing',
  async (t) => {
    const limited: string[] = [];
    const limiter: Limiter = {
      admit({ tenant }) {
        limited.push(tenant);
        throw new StatusError('TenantRateExceeded', 'over its rate');
      },
    };
    t.match(await refused([AS_BOB], { limiter }), { code: 'TenantRateExceeded' });
    t.same(limited, ['acme']);
    const reserved: HeaderField = ['Impersonate-Group', 'system:masters'];
    t.match(await refused([AS_BOB, reserved], { limiter }), { code: 'ImpersonationForbidden' });
    t.same(limited, ['acme']);
  },
);

t.test('C061 more than 64 values are refused, and none is reviewed', async (t) => {
  const groups = Array.from({ length: 64 }, (_, i): HeaderField => ['Impersonate-Group', `g${i}`]);
  t.match(await refused([AS_BOB, ...groups]), { code: 'HeadersTooLarge', message: /65 values/ });
});

for (const group of [
  'system:masters',
  'system:unauthenticated',
  'keystone:project:p',
  'stonegate:tenant:globex',
])
  t.test(`the group ${group} is refused before anything is reviewed`, async (t) =>
    t.match(await refused([AS_BOB, ['Impersonate-Group', group]]), { code: 'ImpersonationForbidden' }),
  );

t.test('a group that would change in transit is refused', async (t) => {
  const group = Buffer.from('\ufeffsystem:masters').toString('latin1');
  t.match(await refused([AS_BOB, ['Impersonate-Group', group]]), { code: 'IdentityUnusable' });
});

for (const key of [
  'alpha.kubernetes.io%2fidentity%2fproject%2fid',
  'Alpha.Kubernetes.IO%2FIdentity%2FRoles',
  'authentication.kubernetes.io%2fcredential-id',
  'a.k8s.io',
  'stonegate.dev%2foriginal-user',
  'Stonegate.dev%2Ftenant',
])
  t.test(`C078 the extra ${key} is refused, whatever the configuration allows`, async (t) => {
    const extraKeys = [decodeURIComponent(key).toLowerCase()];
    const error = await refused([AS_BOB, [`Impersonate-Extra-${key}`, 'x']], { extraKeys });
    t.match(error, { code: 'ImpersonationForbidden', message: /reserved/ });
  });

t.test('an extra that Stonegate may not impersonate is refused with the reason', async (t) => {
  const error = await refused([AS_BOB, ['Impersonate-Extra-scopes', 'view']]);
  t.match(error, { code: 'ImpersonationForbidden', message: /authentication\.impersonationExtraKeys/ });
});

const ANONYMOUS: Identity = { ...keystoneIdentity('alice'), subject: { kind: 'anonymous' } };
for (const [who, identity] of [
  ['is forwarded with their own token', { ...ANONYMOUS, subject: { kind: 'upstream', user: alice } }],
  ['is anonymous', ANONYMOUS],
] as const)
  t.test(`a user who ${who} cannot impersonate another user`, async (t) =>
    t.match(await refused([AS_BOB], { identity }), { code: 'ImpersonationForbidden' }),
  );

t.test(
  'C114 a service account has the groups that Kubernetes gives it, unless others are requested',
  async (t) => {
    const account: HeaderField = ['Impersonate-User', 'system:serviceaccount:ns:name'];
    const { user, asked } = await act([account], { mode: shared });
    t.strictSame(user.groups, [
      'system:serviceaccounts',
      'system:serviceaccounts:ns',
      'system:authenticated',
    ]);
    t.strictSame(
      Object.keys(user.extra),
      ['stonegate.dev/original-user'],
      'a service account belongs to no tenant',
    );
    t.match(asked, [{ resourceAttributes: { resource: 'serviceaccounts', namespace: 'ns', name: 'name' } }]);
    t.equal(asked.length, 1);
    const other = await act([account, ['Impersonate-Group', 'devs']], { mode: shared });
    t.strictSame(other.user.groups, ['devs', 'system:authenticated']);
  },
);

t.test('in shared mode, the target has the group and extra of the tenant', async (t) => {
  const { user, asked } = await act([AS_BOB, ['Impersonate-Group', 'devs']], { mode: shared });
  t.equal(user.username, 'acme:bob');
  t.strictSame(user.groups, ['devs', 'stonegate:tenant:acme', 'system:authenticated']);
  t.strictSame(user.extra['stonegate.dev/tenant'], ['acme']);
  t.equal(asked.length, 2, 'the group of the tenant needs no right');
});

t.test('in arktos mode, service accounts are refused, since they belong to the system tenant', async (t) => {
  const error = await refused([['Impersonate-User', 'system:serviceaccount:ns:name']]);
  t.equal(error.code, 'ImpersonationForbidden');
});

t.test('with the RBAC index, the refusal ends with what the caller’s roles nearly grant', async (t) => {
  const impersonate = rule('impersonate', 'users');
  const read = rule('get', '*', 'rbac.authorization.k8s.io');
  const { access } = accessIndexOf(
    clusterRole('as-carol', [{ ...impersonate, resourceNames: ['acme:carol'] }, read]),
    clusterRoleBinding('support', 'ClusterRole/as-carol', [user('acme:alice')]),
  );
  const reasonOf = createReasonOf(access, shared);
  const answer = () => ({ allowed: false });
  const options = { mode: shared, answer, reasonOf };
  const refusal =
    'users "acme:bob" is forbidden: User "acme:alice" cannot impersonate resource "users" in API group "" at the cluster scope';
  t.match(await refused([AS_BOB], options), {
    message: `${refusal}: ClusterRoleBinding support grants \`impersonate users\` for other names, not "acme:bob"`,
    details: { name: 'acme:bob', kind: 'users' },
  });
  const dave = { ...alice, username: 'acme:dave', groups: [] };
  t.match(await refused([AS_BOB], { ...options, caller: dave }), {
    message: refusal.replace('acme:alice', 'acme:dave'),
  });
});
