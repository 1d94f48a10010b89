/** Whose Keystone roles count for a request, if roles are looked up. */
import t from 'tap';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';
import { roleScopeOf } from '../../../src/proxy/stages.ts';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { keystoneIdentity } from '../../support/identities.ts';

const mode = createArktosMode({ systemTenant: 'system', domains: {} });

function scopeOf(target: string, identity = keystoneIdentity('alice')) {
  const info = readRequestInfo('GET', target, { hasTenantsInPaths: true });
  return roleScopeOf(info, identity, mode.tenantOf(identity), mode);
}

t.test('a guest has roles of the home domain, and none in namespaces of the entered tenant', async (t) =>
  t.same(scopeOf('/tenants/globex/api/v1/namespaces/web/pods'), {
    domainID: 'id-of-acme',
    namespace: '',
    cluster: false,
  }),
);

t.test("the prefix of the user's own tenant changes no role", async (t) => {
  const path = '/api/v1/namespaces/web/pods';
  t.same(scopeOf(`/tenants/acme${path}`), scopeOf(path));
  t.match(scopeOf(path), { domainID: 'id-of-acme', namespace: 'web' });
});
