/** Which requests for lists would get a filtered response, for self reviews and explanations. */
import t from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import { createFilteredReason } from '../../../src/proxy/filtered-reason.ts';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { createSharedMode } from '../../../src/tenancy/shared.ts';
import { keystoneIdentity } from '../../support/identities.ts';
import { namespacesSite } from '../../support/namespaces-site.ts';
import { outgoingOf } from '../../support/outgoing.ts';
import { rule } from '../../support/policy-rule.ts';
import { clusterRole, clusterRoleBinding, namespace, roleBinding, user } from '../../support/rbac-objects.ts';
import { tokenScope } from '../../support/token-scope.ts';

const VIEWER = clusterRole('viewer', [rule('get', 'namespaces')]);
const LISTER = clusterRole('lister', [rule('list,watch', 'namespaces')]);
const OBJECTS = [
  ...[namespace('a'), VIEWER, LISTER],
  roleBinding('a', 'view', 'ClusterRole/viewer', [user('acme:alice')]),
  clusterRoleBinding('listers', 'ClusterRole/lister', [user('acme:bob')]),
];

function reasonsOf({
  mode = createSharedMode({ domains: {}, reservedNamePrefixes: [] }),
  wouldMerge = async (): Promise<boolean | StatusError> => false,
} = {}) {
  const site = namespacesSite(OBJECTS, { tenancy: mode });
  const reasonOf = createFilteredReason({ mode, namespaces: site.filtered, wouldMerge });
  return (attributes: object, name = 'alice') =>
    reasonOf(site.outgoing(name, '/api/v1/pods', [], 'GET'), attributes);
}

t.test('D019 lists and watches of namespaces are filtered for users who may not list all', async (t) => {
  const reasonOf = reasonsOf();
  for (const verb of ['list', 'watch'])
    for (const namespace of ['', 'a'])
      t.match(await reasonOf({ verb, resource: 'namespaces', namespace }), /filtered/);
  for (const attributes of [
    { verb: 'get', resource: 'namespaces' },
    { verb: 'list', resource: 'namespaces', name: 'a' },
    { verb: 'list', resource: 'namespaces', subresource: 'status' },
    { verb: 'list', resource: 'namespaces', group: 'example.com' },
    { verb: 'list', resource: 'pods' },
    {},
  ])
    t.equal(await reasonOf(attributes), undefined, JSON.stringify(attributes));
  t.equal(
    await reasonOf({ verb: 'list', resource: 'namespaces' }, 'bob'),
    undefined,
    'a user who may list all namespaces',
  );
});

t.test('lists across all namespaces are filtered if they would be merged', async (t) => {
  const reasonOf = reasonsOf({ wouldMerge: async () => true });
  t.match(await reasonOf({ verb: 'list', resource: 'pods' }), /filtered/);
  t.equal(await reasonOf({ verb: 'list', resource: 'pods', namespace: 'a' }), undefined);
  t.equal(await reasonOf({ verb: 'delete', resource: 'pods' }), undefined);
  const tooMany = new StatusError('TooManyNamespaces', 'too many');
  t.equal(await reasonsOf({ wouldMerge: async () => tooMany })({ verb: 'list', resource: 'pods' }), tooMany);
});

t.test(
  'on Arktos, the list of tenants and the user’s own tenant are filtered if they are shown',
  async (t) => {
    const arktos = { systemTenant: 'system', domains: {} };
    const reasonOf = reasonsOf({ mode: createArktosMode({ ...arktos, showsOwnTenant: true }) });
    t.match(await reasonOf({ verb: 'list', resource: 'tenants' }), /filtered: it has the user's own tenant/);
    t.match(await reasonOf({ verb: 'get', resource: 'tenants', name: 'acme' }), /own tenant/);
    for (const attributes of [
      { verb: 'get', resource: 'tenants', name: 'globex' },
      { verb: 'get', resource: 'tenants' },
      { verb: 'watch', resource: 'tenants' },
      { verb: 'delete', resource: 'tenants', name: 'acme' },
      { verb: 'list', resource: 'tenants', name: 'acme' },
      { verb: 'list', resource: 'tenants', group: 'example.com' },
    ])
      t.equal(await reasonOf(attributes), undefined, JSON.stringify(attributes));
    const hidden = reasonsOf({ mode: createArktosMode({ ...arktos, showsOwnTenant: false }) });
    t.equal(await hidden({ verb: 'list', resource: 'tenants' }), undefined);
  },
);

t.test('with an access token, only lists that its scope allows in some namespace are filtered', async (t) => {
  const namespaces = { wouldFilter: async () => true };
  const mode = createArktosMode({ systemTenant: 'system', domains: {}, showsOwnTenant: true });
  const reasonOf = createFilteredReason({ mode, namespaces, wouldMerge: async () => true });
  const asked = (resource: string, scopes: string) => {
    const identity = { ...keystoneIdentity('alice'), accessToken: tokenScope(scopes, [], 'acme') };
    return reasonOf(outgoingOf(mode, identity, {}), { verb: 'list', resource });
  };
  for (const resource of ['namespaces', 'pods']) {
    t.match(await asked(resource, 'namespace/web/read'), /filtered/, resource);
    t.equal(await asked(resource, 'userinfo'), undefined, resource);
  }
  t.equal(await asked('secrets', 'namespace/web/read'), undefined);
  t.match(await asked('tenants', 'tenant/read'), /own tenant/);
  t.equal(await asked('tenants', 'namespace/web/read'), undefined, 'a tenant is in no namespace');
});
