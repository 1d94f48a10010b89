/** Cases that `test/conformance/kubernetes/quota-usage.test.ts` cannot ask a real kube-apiserver. */
import t from 'tap';
import { formatQuantity } from '../../../../src/kubernetes/quantity.ts';
import { missingRequests, podUsage } from '../../../../src/kubernetes/resource-quota/pod-usage.ts';

/** The usage of a pod, without the counts of objects. */
function asked(pod: unknown): Record<string, string> {
  const usage = [...podUsage(pod)].filter(([name]) => !/^(count\/)?pods$/.test(name));
  return Object.fromEntries(usage.map(([name, amount]) => [name, formatQuantity(amount, 'decimal')]));
}

const requested = (resources: object) => ({ containers: [{ name: 'c', resources }] });

t.test('a device is requested by its class', async (t) => {
  const limits = { 'deviceclass.resource.kubernetes.io/a': '1', 'kubernetes.io/other': '1', storage: '1' };
  t.strictSame(asked({ spec: requested({ limits }) }), {
    'requests.deviceclass.resource.kubernetes.io/a': '1',
  });
});

t.test(
  'Arktos: a VM is charged with the larger of its request and what the node has allocated',
  async (t) => {
    const virtualMachine = {
      ...{ name: 'vm', resources: { requests: { cpu: '1' }, limits: { cpu: '3', memory: '1G' } } },
      resourcesAllocated: { cpu: '2', memory: '500M' },
    };
    t.strictSame(asked({ spec: { virtualMachine } }), {
      ...{ virtualmachines: '1', cpu: '2', 'requests.cpu': '2', 'limits.cpu': '3' },
      ...{ memory: '1G', 'requests.memory': '1G', 'limits.memory': '1G' },
    });
    t.strictSame(missingRequests({ spec: { virtualMachine: { name: 'vm' } } }, ['memory']), [
      'memory for: vm',
    ]);
  },
);

t.test('a pod that is being deleted counts', async (t) => {
  const metadata = { deletionTimestamp: '2026-11-26T00:00:00Z', deletionGracePeriodSeconds: 30 };
  const spec = requested({ requests: { cpu: '1' } });
  t.strictSame([...podUsage({ spec, metadata }).keys()], ['count/pods', 'pods', 'cpu', 'requests.cpu']);
});
