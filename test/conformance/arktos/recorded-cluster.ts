/** A stand-in with the objects of the server on which paths.tsv and the exchanges were recorded. */
import { createApiServer } from '../../support/apiserver/api-server.ts';
import type { Seed } from '../../support/apiserver/seed.ts';
import { rule } from '../../support/policy-rule.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

export async function startRecordedCluster() {
  const server = await createApiServer({
    flavour: 'arktos',
    tokens: {
      admin: { username: 'admin', groups: ['system:masters'] },
      proxy: { username: 'keystone-bridge' },
      't1-admin': { username: 'admin', tenant: 'tenant1' },
      't1-dev-token': { username: 'dev', uid: 'uid-t1-dev', groups: ['devs'], tenant: 'tenant1' },
    },
  });
  const { seed } = server;
  seed.clusterRole('impersonator', [
    rule('impersonate', 'users,groups'),
    rule('impersonate', 'userextras/tier', 'authentication.k8s.io'),
  ]);
  seed.clusterRoleBinding('impersonator', 'impersonator', ['user:keystone-bridge']);
  seed.tenant('tenant1');
  seed.tenant('tenant2');
  const tenant1 = { tenant: 'tenant1' };
  seed.clusterRoleBinding('root', 'admin-role', ['user:tenant1:root'], tenant1);
  const readable = ['pods', 'namespaces', 'configmaps'];
  seed.clusterRole(
    'viewer',
    [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: readable }],
    tenant1,
  );
  seed.clusterRoleBinding('alice', 'viewer', ['user:tenant1:alice'], tenant1);
  seed.clusterRoleBinding('members', 'viewer', ['group:keystone:proj1:member'], tenant1);
  const discovery = [
    '/api',
    '/api/*',
    '/apis',
    '/apis/*',
    '/healthz',
    '/openapi',
    '/openapi/*',
    '/version',
    '/version/',
  ];
  seed.clusterRole('system:discovery', [{ verbs: ['get'], nonResourceURLs: discovery }], tenant1);
  seed.clusterRoleBinding('system:discovery', 'system:discovery', ['group:system:authenticated'], tenant1);

  seed.pod('p1', { ...tenant1, running: false });
  seed.configMap('cm1', { a: 'b' }, tenant1);
  seed.configMap('hello', { a: 'b' }, tenant1);
  const manifest =
    '{"apiVersion":"v1","data":{"x":"1"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"applied","namespace":"default"}}\n';
  const applied = { metadata: { annotations: { [LAST_APPLIED]: manifest } }, data: { x: '1' } };
  seed.object('v1/configmaps', 'applied', applied, tenant1);
  seed.object('apps/v1/deployments', 'd1', { spec: { replicas: 2 } }, tenant1);
  seed.customResource(
    { group: 'example.com', plural: 'widgets', kind: 'Widget', scope: 'Namespaced' },
    tenant1,
  );
  seed.customResource({ group: 'example.com', plural: 'gadgets', kind: 'Gadget', scope: 'Cluster' }, tenant1);
  seed.object('example.com/v1/widgets', 'w1', { spec: {} }, tenant1);
  seed.object('example.com/v1/gadgets', 'g1', { spec: {} }, tenant1);
  seedSecrets(seed);
  return server;
}

/** A user who may read one secret, and a secret of another tenant that was written last. */
function seedSecrets(seed: Seed) {
  const acme = { tenant: 'acme' };
  seed.tenant('acme');
  const mine = { apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'] };
  seed.clusterRole('spy', [{ ...mine, verbs: ['get', 'watch'] }], acme);
  seed.clusterRoleBinding('spy', 'spy', ['user:acme:spy'], acme);
  const hidden = '<redacted base64>';
  seed.object('v1/secrets', 'mine', { data: { owner: hidden, pw: hidden }, type: 'Opaque' }, acme);
  seed.namespace('team-x');
  seed.object(
    'v1/secrets',
    'default-token-r7k57',
    {
      data: { 'ca.crt': hidden, namespace: hidden, token: hidden },
      type: 'kubernetes.io/service-account-token',
    },
    { namespace: 'team-x' },
  );
}
