import t from 'tap';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';
import type { Identity } from '../../../src/tenancy/identity.ts';
import { createSharedMode } from '../../../src/tenancy/shared.ts';
import { keystoneIdentity } from '../../support/identities.ts';

const mode = createSharedMode({
  domains: { Default: 'home' },
  reservedNamePrefixes: ['oidc:', 'corp:eu:', 'gh-'],
});
const userOf = (identity: Identity) => mode.userOf(identity, mode.tenantOf(identity));

function routeOf(method: string, target: string) {
  const identity = keystoneIdentity('alice');
  const info = readRequestInfo(method, target, mode.facts);
  return mode.route(info, method, mode.tenantOf(identity), userOf(identity));
}

t.test(
  'C220 a user name consists of the home domain and the name, whatever the scope of the token',
  async (t) => {
    t.equal(userOf(keystoneIdentity('alice')).username, 'acme:alice');
    t.equal(userOf(keystoneIdentity('alice', { home: 'globex', scope: 'acme' })).username, 'globex:alice');
  },
);

t.test('the tenant is sent as a group and in extra', async (t) => {
  const { groups, extra } = userOf(
    keystoneIdentity('alice', { home: 'globex', scope: 'Default', groups: ['g'] }),
  );
  t.strictSame(groups, ['g', 'stonegate:tenant:home', 'system:authenticated']);
  t.strictSame(extra, { 'stonegate.dev/tenant': ['home'] });
});

for (const home of ['oidc', 'corp', 'gh-acme', 'gh-'])
  t.test(
    `a Keystone user of the domain "${home}" is refused, since a user of an issuer could have the name`,
    async (t) =>
      t.throws(() => userOf(keystoneIdentity('x', { home, scope: 'acme' })), { code: 'IdentityReserved' }),
  );

t.test('a Keystone domain named system cannot produce a user of the cluster', async (t) =>
  t.throws(() => userOf(keystoneIdentity('admin', { home: 'system', scope: 'acme' })), {
    code: 'IdentityReserved',
  }),
);

t.test('paths are unchanged, including tenants in them', async (t) => {
  t.strictSame(routeOf('GET', '/api/v1/tenants/x/pods?a=b'), {
    kind: 'forward',
    path: '/api/v1/tenants/x/pods',
    query: 'a=b',
  });
  t.match(routeOf('GET', '/metrics'), { kind: 'forward', path: '/metrics' });
});

t.test(
  'Stonegate answers reviews of the user’s identity, and the cluster those of the user’s rights',
  async (t) => {
    t.match(routeOf('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews'), { review: 'subject' });
    t.match(routeOf('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'), { kind: 'forward' });
  },
);

t.test(
  'the cluster has no tenants: nothing is hidden, no tenant is the system, and reviews name no tenant',
  async (t) => {
    const tenant = mode.tenantOf(keystoneIdentity('alice'));
    t.equal(mode.hiddenResources.size + mode.hiddenGroups.size, 0);
    t.equal(mode.isSystem(tenant), false);
    t.equal(mode.reviewTenant(tenant), undefined);
  },
);
