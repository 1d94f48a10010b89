import t from 'tap';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { serviceAccountOf } from '../../../src/tenancy/impersonation-target.ts';
import { createSharedMode } from '../../../src/tenancy/shared.ts';
import type { TenancyMode } from '../../../src/tenancy/tenancy-mode.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';

const arktos = createArktosMode({ systemTenant: 'system', domains: {} });
const shared = createSharedMode({
  domains: { Default: 'main', moved: 'elsewhere' },
  reservedNamePrefixes: ['oidc:'],
});

const name = (mode: TenancyMode, tenant: string, wanted: string) =>
  mode.impersonationTarget(wanted, toTenantName(tenant)).username;

for (const [mode, tenant, wanted, username] of [
  [arktos, 'acme', 'bob', 'acme:bob'],
  [arktos, 'acme', 'acme:bob', 'acme:bob'],
  [arktos, 'acme', 'globex:bob', 'acme:globex:bob'],
  [arktos, 'acme', 'oidc:carol@acme.example', 'acme:oidc:carol@acme.example'],
  [arktos, 'system', 'bob', 'system:stonegate:bob'],
  [arktos, 'system', 'system:stonegate:bob', 'system:stonegate:bob'],
  [arktos, 'system', 'acme:alice', 'system:stonegate:acme:alice'],
  [shared, 'acme', 'bob', 'acme:bob'],
  [shared, 'acme', 'acme:bob', 'acme:bob'],
  [shared, 'acme', 'globex:bob', 'acme:globex:bob'],
  [shared, 'main', 'bob', 'Default:bob'],
  [shared, 'main', 'Default:bob', 'Default:bob'],
] as const)
  t.test(`${mode.name}: for a user of ${tenant}, ${wanted} is ${username}`, async (t) =>
    t.equal(name(mode, tenant, wanted), username),
  );

for (const [mode, tenant, wanted] of [
  [arktos, 'acme', 'system:admin'],
  [arktos, 'acme', 'acme:system:admin'],
  [arktos, 'acme', 'system:serviceaccount:ns:name'],
  [arktos, 'acme', 'keystone:project:p:role:admin'],
  [arktos, 'acme', 'acme:stonegate:bob'],
  [arktos, 'system', 'system:admin'],
  [arktos, 'system', 'stonegate:bob'],
  [shared, 'acme', 'system:anonymous'],
  [shared, 'acme', 'keystone:group:g'],
  [shared, 'acme', 'system:serviceaccount:ns:name:more'],
  [shared, 'acme', 'system:serviceaccount:NS:name'],
  [shared, 'system', 'admin'],
] as const)
  t.test(`${mode.name}: a user of ${tenant} cannot impersonate ${wanted}`, async (t) =>
    t.throws(() => name(mode, tenant, wanted), { code: 'ImpersonationForbidden' }),
  );

t.test(
  'shared: a tenant whose domain name belongs to another tenant has no names to impersonate',
  async (t) => {
    t.throws(() => name(shared, 'moved', 'bob'), { code: 'ImpersonationForbidden' });
    t.equal(name(shared, 'elsewhere', 'bob'), 'moved:bob');
  },
);

t.test('shared: names with the prefix of an issuer are refused', async (t) =>
  t.throws(() => name(shared, 'oidc', 'carol'), { code: 'IdentityReserved' }),
);

for (const wanted of ['acme:', ' bob', 'bob ', 'acme: bob', 'b\nob', 'b\ud800'])
  t.test(`${JSON.stringify(wanted)} would arrive as another name and is refused`, async (t) =>
    t.throws(() => name(arktos, 'acme', wanted), { code: 'IdentityUnusable' }),
  );

t.test('the name of a service account is read as Kubernetes reads it', async (t) => {
  t.same(serviceAccountOf('system:serviceaccount:ns:a.b-c'), { namespace: 'ns', name: 'a.b-c' });
  for (const not of [
    'bob',
    'system:serviceaccount:ns:',
    'system:serviceaccount::n',
    'system:serviceaccount:a.b:n',
  ])
    t.equal(serviceAccountOf(not), undefined, not);
  t.equal(
    serviceAccountOf(`system:serviceaccount:ns:${'a.'.repeat(127)}a`),
    undefined,
    'the name is too long',
  );
});
