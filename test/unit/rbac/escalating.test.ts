/** Rights that an access token needs an extra word in its scopes for. */
import t from 'tap';
import { escalationOf } from '../../../src/rbac/escalating.ts';
import { rows } from '../../support/rows.ts';

/** Word, verb, resources and group. Each of them is a way to gain other rights. */
const WAYS = rows(`
secrets | get | secrets
exec | create | pods/exec pods/attach pods/portforward pods/proxy pods/ephemeralcontainers
exec | get | virtualmachineinstances/console virtualmachineinstances/vnc virtualmachineinstances/usbredir | subresources.kubevirt.io
exec | get | virtualmachineinstances/vsock | subresources.kubevirt.io
exec | proxy | pods services
exec | create | persistentvolumes
exec | get | nodes/log nodes/metrics nodes/stats nodes/configz nodes/pods nodes/checkpoint
rbac | update | roles clusterrolebindings | rbac.authorization.k8s.io
rbac | bind | roles | rbac.authorization.k8s.io
rbac | escalate | roles | rbac.authorization.k8s.io
rbac | create | mutatingwebhookconfigurations | admissionregistration.k8s.io
rbac | create | apiservices | apiregistration.k8s.io
rbac | patch | customresourcedefinitions customresourcedefinitions/status | apiextensions.k8s.io
rbac | update | namespaces namespaces/status namespaces/finalize tenants
rbac | create | tenants | tenancy.stonegate.dev
rbac | create | members teams invitations invitationacceptances | stonegate.dev
impersonate | impersonate | users groups
impersonate | impersonate:user-info | users | authentication.k8s.io
impersonate | impersonate:serviceaccount | serviceaccounts | authentication.k8s.io
impersonate | impersonate:arbitrary-node | nodes | authentication.k8s.io
impersonate | impersonate:associated-node | nodes | authentication.k8s.io
tokens | create | serviceaccounts/token
tokens | create | accesstokens accesstokenrotations | stonegate.dev
tokens | create | certificatesigningrequests | certificates.k8s.io
tokens | approve | signers | certificates.k8s.io
tokens | sign | signers | certificates.k8s.io
tokens | attest | signers | certificates.k8s.io
none | create | namespaces pods
none | get | namespaces persistentvolumes nodes tenants pods/log pods/status
none | list | roles | rbac.authorization.k8s.io
none | get | certificatesigningrequests | certificates.k8s.io`);

t.test('each way to gain other rights needs its word', async (t) => {
  for (const [word, verb, resources, apiGroup] of WAYS)
    for (const path of resources.split(' ')) {
      const [resource = '', subresource = ''] = path.split('/');
      const question = { verb, apiGroup, resource, subresource, namespace: 'web', name: 'x', tenant: '' };
      t.equal(escalationOf(question) ?? 'none', word, `${verb} ${apiGroup}/${path}`);
    }
});
