/** What needs a word of its own in the scopes of an access token, by its effect. */
import t from 'tap';
import { escalationOf } from '../../../src/rbac/escalating.ts';

t.test('the consoles of virtual machines need +exec, as every other way in does', async (t) => {
  const question = {
    verb: 'get',
    apiGroup: 'subresources.kubevirt.io',
    namespace: 'web',
    name: 'vm',
    tenant: '',
  };
  for (const subresource of ['console', 'vnc', 'usbredir', 'vsock', 'portforward'])
    t.equal(
      escalationOf({ ...question, resource: 'virtualmachineinstances', subresource }),
      'exec',
      subresource,
    );
});
