/** Rights that an access token needs an extra word in its scopes for. */
import t from 'tap';
import { escalationOf } from '../../../src/rbac/escalating.ts';

/** Word → verb, group and resources. Each of them is a way to gain other rights. */
const WAYS = [
  ['secrets', 'get', '', 'secrets'],
  ['exec', 'create', '', 'pods/exec pods/attach pods/portforward pods/proxy pods/ephemeralcontainers'],
  [
    'exec',
    'get',
    'subresources.kubevirt.io',
    'virtualmachineinstances/console virtualmachineinstances/vnc virtualmachineinstances/usbredir',
  ],
  ['exec', 'get', 'subresources.kubevirt.io', 'virtualmachineinstances/vsock'],
  ['exec', 'proxy', '', 'pods services'],
  ['exec', 'create', '', 'persistentvolumes'],
  ['exec', 'get', '', 'nodes/log nodes/metrics nodes/stats nodes/configz nodes/pods nodes/checkpoint'],
  ['rbac', 'update', 'rbac.authorization.k8s.io', 'roles clusterrolebindings'],
  ['rbac', 'bind', 'rbac.authorization.k8s.io', 'roles'],
  ['rbac', 'escalate', 'rbac.authorization.k8s.io', 'roles'],
  ['rbac', 'create', 'admissionregistration.k8s.io', 'mutatingwebhookconfigurations'],
  ['rbac', 'create', 'apiregistration.k8s.io', 'apiservices'],
  ['rbac', 'patch', 'apiextensions.k8s.io', 'customresourcedefinitions customresourcedefinitions/status'],
  ['rbac', 'update', '', 'namespaces namespaces/status namespaces/finalize tenants'],
  ['rbac', 'create', 'tenancy.stonegate.dev', 'tenants'],
  ['rbac', 'create', 'stonegate.dev', 'members teams invitations invitationacceptances'],
  ['impersonate', 'impersonate', '', 'users groups'],
  ['impersonate', 'impersonate:user-info', 'authentication.k8s.io', 'users'],
  ['impersonate', 'impersonate:serviceaccount', 'authentication.k8s.io', 'serviceaccounts'],
  ['impersonate', 'impersonate:arbitrary-node', 'authentication.k8s.io', 'nodes'],
  ['impersonate', 'impersonate:associated-node', 'authentication.k8s.io', 'nodes'],
  ['tokens', 'create', '', 'serviceaccounts/token'],
  ['tokens', 'create', 'stonegate.dev', 'accesstokens accesstokenrotations'],
  ['tokens', 'create', 'certificates.k8s.io', 'certificatesigningrequests'],
  ['tokens', 'approve', 'certificates.k8s.io', 'signers'],
  ['tokens', 'sign', 'certificates.k8s.io', 'signers'],
  ['tokens', 'attest', 'certificates.k8s.io', 'signers'],
  ['none', 'create', '', 'namespaces pods'],
  ['none', 'get', '', 'namespaces persistentvolumes nodes tenants pods/log pods/status'],
  ['none', 'list', 'rbac.authorization.k8s.io', 'roles'],
  ['none', 'get', 'certificates.k8s.io', 'certificatesigningrequests'],
] as const;

t.test('each way to gain other rights needs its word', async (t) => {
  for (const [word, verb, apiGroup, resources] of WAYS)
    for (const path of resources.split(' ')) {
      const [resource = '', subresource = ''] = path.split('/');
      const question = { verb, apiGroup, resource, subresource, namespace: 'web', name: 'x', tenant: '' };
      t.equal(escalationOf(question) ?? 'none', word, `${verb} ${apiGroup}/${path}`);
    }
});
