/** Users whom a certificate or a file names within a tenant, as the API server is to know them. */
import t from 'tap';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import type { Identity, LocalSubject } from '../../../src/tenancy/identity.ts';
import { createSharedMode } from '../../../src/tenancy/shared.ts';

const arktos = createArktosMode({ systemTenant: 'system', domains: {} });
const shared = createSharedMode({ domains: {}, reservedNamePrefixes: ['token:'] });

function identityOf(changes: Partial<LocalSubject> = {}): Identity {
  const subject: LocalSubject = {
    ...{ kind: 'local', usernamePrefix: 'token:', groupsPrefix: 'file:', tenant: 'acme' },
    ...{ name: 'alice', groups: ['dev', 'dev'], ...changes },
  };
  return {
    ...{ authenticator: 'token-file', subject, tenantOrigin: { from: 'issuer', tenant: subject.tenant } },
    ...{ uid: '1', groups: [], extra: {}, expiresAt: Number.POSITIVE_INFINITY, auditAnnotations: {} },
  };
}

function userOf(mode: typeof arktos, changes?: Partial<LocalSubject>) {
  const identity = identityOf(changes);
  const { username, groups } = mode.userOf(identity, mode.tenantOf(identity));
  return [username, ...groups];
}

t.test('the tenant is in the names only if the API server does not read it from a name', async (t) => {
  const everybody = 'system:authenticated';
  t.strictSame(userOf(arktos), ['acme:token:alice', 'file:dev', everybody]);
  for (const tenant of ['acme', 'globex'])
    t.strictSame(userOf(shared, { tenant }), [
      ...[`token:${tenant}:alice`, `file:${tenant}:dev`],
      ...[`stonegate:tenant:${tenant}`, everybody],
    ]);
});

t.test('in another tenant the user is known by the same name and groups as at home', async (t) =>
  t.same(arktos.guests?.visitorOf(identityOf()), { name: 'token:alice', groups: ['file:dev'] }),
);

t.test('names of the cluster, of Keystone and of Stonegate are refused, whatever the prefix', async (t) => {
  const bare = { usernamePrefix: '', groupsPrefix: '' };
  const refused = { code: 'IdentityReserved' };
  for (const name of ['system:admin', 'keystone:x', 'stonegate:x']) {
    t.throws(() => userOf(arktos, { ...bare, name }), refused);
    t.throws(() => userOf(arktos, { ...bare, groups: [name] }), refused);
    const [tenant = ''] = name.split(':');
    t.throws(() => userOf(shared, { ...bare, tenant }), { code: /^(?:IdentityReserved|TenantUnknown)$/ });
  }
});
