/** Users whom a certificate or a file names within a tenant, as the API server is to know them. */
import t from 'tap';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import type { LocalIdentity, LocalSubject } from '../../../src/tenancy/identity.ts';
import { createSharedMode } from '../../../src/tenancy/shared.ts';

const arktos = createArktosMode({ systemTenant: 'system', domains: {} });
const shared = createSharedMode({ domains: {}, reservedNamePrefixes: ['token:'] });

function identityOf(changes: Partial<LocalSubject> = {}, tenant = 'acme'): LocalIdentity {
  return {
    authenticator: 'token-file',
    subject: {
      ...{ kind: 'local', usernamePrefix: 'token:', groupsPrefix: 'file:' },
      ...{ name: 'alice', groups: ['dev', 'dev'], ...changes },
    },
    tenantOrigin: { from: 'issuer', tenant },
    ...{ uid: '1', extra: {}, expiresAt: Number.POSITIVE_INFINITY, auditAnnotations: {} },
  };
}

function userOf(mode: typeof arktos, changes?: Partial<LocalSubject>, tenant?: string) {
  const identity = identityOf(changes, tenant);
  const { username, groups } = mode.userOf(identity, mode.tenantOf(identity));
  return [username, ...groups];
}

t.test(
  'names and groups contain the tenant, unless the API server reads the tenant from the name',
  async (t) => {
    const everybody = 'system:authenticated';
    // The mode itself puts "acme:" before the name.
    t.strictSame(userOf(arktos), ['acme:token:alice', 'file:dev', everybody]);
    for (const tenant of ['acme', 'globex'])
      t.strictSame(userOf(shared, {}, tenant), [
        ...[`token:${tenant}:alice`, `file:${tenant}:dev`],
        ...[`stonegate:tenant:${tenant}`, everybody],
      ]);
  },
);

t.test('policies of another tenant see the name and the groups that the user has at home', async (t) =>
  t.same(arktos.guests?.namedAtHome(identityOf()), { name: 'token:alice', groups: ['file:dev'] }),
);

t.test('names of the cluster, of Keystone and of Stonegate are refused, whatever the prefix', async (t) => {
  const bare = { usernamePrefix: '', groupsPrefix: '' };
  for (const name of ['system:admin', 'keystone:x', 'stonegate:x'])
    for (const changes of [{ name }, { groups: [name] }])
      t.throws(() => userOf(arktos, { ...bare, ...changes }), { code: 'IdentityReserved' }, name);
});

t.test('a tenant that would make a name a reserved one is refused', async (t) => {
  for (const [tenant, code] of [
    ['keystone', 'IdentityReserved'],
    ['stonegate', 'IdentityReserved'],
  ] as const)
    t.throws(() => userOf(shared, { usernamePrefix: '' }, tenant), { code }, tenant);
});
