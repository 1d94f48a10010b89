import t from 'tap';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import type { Identity } from '../../../src/tenancy/identity.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { claimIdentity, keystoneIdentity, upstreamIdentity } from '../../support/identities.ts';

const mode = createArktosMode({
  systemTenant: 'system',
  domains: { Default: 'default-tenant', ops: 'system', everyone: 'all' },
});
const nameOf = (identity: Identity) => mode.userOf(identity, mode.tenantOf(identity)).username;

function routeOf(target: string, { method = 'GET', as = keystoneIdentity('alice') } = {}) {
  const tenant = mode.tenantOf(as);
  const info = readRequestInfo(method, target, mode.facts);
  return mode.route(info, method, tenant, mode.userOf(as, tenant));
}

t.test(
  'C220 the name of a user from another domain contains that domain, so two users never share a name',
  async (t) => {
    t.equal(nameOf(keystoneIdentity('alice', { home: 'globex', scope: 'acme' })), 'acme:alice@globex');
    t.not(
      nameOf(keystoneIdentity('alice')),
      nameOf(keystoneIdentity('alice', { home: 'globex', scope: 'acme' })),
    );
  },
);

t.test('separators in Keystone’s free text are escaped', async (t) => {
  t.equal(nameOf(keystoneIdentity('a:b@c%d')), 'acme:a%3Ab%40c%25d');
  t.equal(nameOf(keystoneIdentity('bob', { home: 'x@y', scope: 'acme' })), 'acme:bob@x%40y');
});

t.test(
  'names of users of the system tenant have a second part that the cluster’s own users lack',
  async (t) => {
    t.equal(nameOf(keystoneIdentity('root', { home: 'ops' })), 'system:stonegate:root');
    t.equal(nameOf(claimIdentity('oidc:eve', 'system')), 'system:stonegate:oidc:eve');
  },
);

t.test('a delegated token has a name of its own', async (t) => {
  const delegation = { kind: 'application-credential', id: 'c0ffee' } as const;
  t.equal(nameOf(keystoneIdentity('alice', {}, delegation)), 'acme:application-credential:c0ffee');
  const trust = { kind: 'trust', id: 't1' } as const;
  t.equal(nameOf(keystoneIdentity('alice', { home: 'globex', scope: 'acme' }, trust)), 'acme:trust:t1');
});

t.test('C046 a claimed name cannot be a name of the cluster or look like a delegated token', async (t) => {
  t.throws(() => nameOf(claimIdentity('system:masters')), { code: 'IdentityReserved' });
  t.throws(() => nameOf(claimIdentity('trust:t1')), { code: 'IdentityReserved' });
  t.throws(() => nameOf(claimIdentity('application-credential:c0ffee')), { code: 'IdentityReserved' });
});

t.test('no user gets the tenant "all", not even by an entry', async (t) => {
  t.throws(() => mode.tenantOf(keystoneIdentity('x', { home: 'everyone' })), { code: 'TenantUnknown' });
  t.throws(() => mode.tenantOf(claimIdentity('o:x', 'all')), { code: 'TenantUnknown' });
});

t.test('a system tenant with another name is reserved too', async (t) => {
  const other = createArktosMode({ systemTenant: 'root', domains: {} });
  t.throws(() => other.tenantOf(keystoneIdentity('x', { home: 'root' })), { code: 'TenantUnknown' });
  const tenant = other.tenantOf(claimIdentity('o:x', 'root'));
  t.equal(other.userOf(claimIdentity('o:x', 'root'), tenant).username, 'root:stonegate:o:x');
});

t.test(
  'the query of a resource is forwarded unchanged, including the tenant parameter, which Arktos ignores',
  async (t) =>
    t.strictSame(routeOf('/api/v1/pods?tenant=globex&limit=5'), {
      kind: 'forward',
      path: '/api/v1/tenants/acme/pods',
      query: 'tenant=globex&limit=5',
    }),
);

for (const target of [
  '/api/v1/nodes/n1/proxy/logs',
  '/api/v1/storageclusters/1',
  '/apis/admissionregistration.k8s.io/v1beta1/mutatingwebhookconfigurations/x',
  '/api/v1/watch/tenants',
])
  t.test(`${target} has no full path and is unchanged`, async (t) =>
    t.match(routeOf(target), { kind: 'forward', path: target }),
  );

t.test('a custom resource named like a cluster-scoped one belongs to the tenant', async (t) => {
  t.match(routeOf('/apis/example.com/v1/nodes'), { path: '/apis/example.com/v1/tenants/acme/nodes' });
  t.match(routeOf('/apis/example.com/v1/tenants/x'), { path: '/apis/example.com/v1/tenants/acme/tenants/x' });
});

for (const target of ['/api/v1/status', '/api/v1/finalize/x', '/apis/example.com/v1/watch/status'])
  t.test(`${target} is refused, since after the tenant it would name the Tenant object`, async (t) =>
    t.throws(() => routeOf(target), { code: 'PathForbidden' }),
  );

t.test(
  'nothing of a client’s query reaches discovery: only the user’s tenant is sent, and only to lists of groups',
  async (t) => {
    for (const query of ['tenant=globex', 'tenant&ten%61nt=x&&TENANT=y&timeout=1s']) {
      const discovery = { kind: 'discovery', path: '/apis', query: 'tenant=acme', reduce: 'groups' };
      t.strictSame(routeOf(`/apis?${query}`), discovery);
      t.match(routeOf(`/api/v1?${query}`), { kind: 'discovery', query: '' });
    }
  },
);

t.test('lists of resources are reduced, and other documents are not', async (t) => {
  t.match(routeOf('/api/v1'), { reduce: 'resources' });
  t.match(routeOf('/apis/apps/v1'), { reduce: 'resources' });
  t.match(routeOf('/apis/apps'), { reduce: 'group' });
  t.match(routeOf('/openapi/v2'), { reduce: 'none', query: '' });
});

for (const target of ['/apis/apps/', '/openapi', '/openapi/v3/a%20b'])
  t.test(`${target} is refused to tenants`, async (t) =>
    t.throws(() => routeOf(target), {
      code: 'PathForbidden',
      message: /^forbidden: User "acme:alice" cannot get path /,
    }),
  );

t.test('discovery is read-only', async (t) => {
  t.match(routeOf('/version', { method: 'HEAD' }), { kind: 'discovery' });
  t.throws(() => routeOf('/version', { method: 'POST' }), { code: 'PathForbidden' });
});

for (const [target, review] of [
  ['/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 'access'],
  ['/apis/authorization.k8s.io/v1beta1/selfsubjectrulesreviews', 'rules'],
  ['/apis/authentication.k8s.io/v1/selfsubjectreviews', 'subject'],
  ['/apis/authentication.k8s.io/v1alpha1/selfsubjectreviews', 'subject'],
] as const)
  t.test(`POST ${target} is a self review, with the short and the full path`, async (t) => {
    const full = target.replace(/\/(?=[^/]*$)/, '/tenants/acme/');
    t.match(routeOf(target, { method: 'POST' }), { kind: 'self-review', review, path: full });
    t.match(routeOf(full, { method: 'POST' }), { kind: 'self-review', review, path: full });
  });

const operator = keystoneIdentity('root', { home: 'ops' });

for (const target of [
  '/api/v1/pods?x=1',
  '/api/v1/tenants/acme/pods',
  '/metrics',
  '/api/v1',
  '/apis?tenant=acme',
  '/api/v1/status',
])
  t.test(`${target} from a user of the system tenant is forwarded unchanged`, async (t) => {
    const [path, query = ''] = target.split('?');
    t.strictSame(routeOf(target, { as: operator }), { kind: 'forward', path, query });
  });

t.test('a user of the system tenant may create self reviews too', async (t) => {
  const target = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  t.match(routeOf(target, { method: 'POST', as: operator }), { kind: 'self-review', path: target });
});

t.test('anonymous users and users with a token of the API server can enter no other tenant', async (t) => {
  const anonymous: Identity = { ...keystoneIdentity('alice'), subject: { kind: 'anonymous' } };
  for (const identity of [anonymous, upstreamIdentity('acme:alice')])
    t.equal(mode.guests?.namedAtHome(identity), undefined);
});

t.test('a kind may be shared by all tenants if no API server has it built in', async (t) => {
  const shared = (target: string, tenant = 'acme') => {
    const info = readRequestInfo('GET', target, mode.facts);
    return info.isResourceRequest && mode.mayBeShared?.(info, toTenantName(tenant));
  };
  t.ok(shared('/apis/example.com/v1/widgets'));
  t.ok(shared('/apis/apps/v1/widgets'), 'a kind of another server in a group of the API server');
  t.notOk(shared('/apis/example.com/v1/widgets', 'system'), 'users of the system tenant need a right to all');
  for (const builtIn of ['/api/v1/pods', '/apis/apps/v1/deployments', '/apis/stonegate.dev/v1/selfidentity'])
    t.notOk(shared(builtIn), builtIn);
});

t.test('D319 no identity source gives a name that a guest from another tenant could have', async (t) => {
  for (const identity of [
    claimIdentity('guest:globex:alice'),
    claimIdentity('guest:'),
    upstreamIdentity('acme:guest:globex:alice'),
  ])
    t.throws(() => mode.userOf(identity, mode.tenantOf(identity)), { code: 'IdentityReserved' });
  for (const name of ['guest', 'guests:bob', 'Guest:bob'])
    t.equal(mode.userOf(claimIdentity(name), toTenantName('acme')).username, `acme:${name}`);
  const named = keystoneIdentity('guest:globex:alice');
  t.equal(mode.userOf(named, toTenantName('acme')).username, 'acme:guest%3Aglobex%3Aalice');
  for (const wanted of ['guest:globex:alice', 'acme:guest:globex:alice'])
    t.throws(() => mode.impersonationTarget(wanted, toTenantName('acme')), {
      code: 'ImpersonationForbidden',
    });
});
