/** Rights that an access token needs an extra word in its scopes for. */
import t from 'tap';
import { escalationOf } from '../../../src/rbac/escalating.ts';

t.test('consoles of virtual machines need +exec, like any other access into a workload', async (t) => {
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
