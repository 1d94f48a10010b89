import t from 'tap';
import { missingRequests, podUsage } from '../../../../src/features/quota/pod-usage.ts';
import { exceeding } from '../../../../src/features/quota/usage.ts';
import { formatQuantity } from '../../../../src/kubernetes/quantity.ts';

/** Without the counts. */
function asked(pod: unknown): Record<string, string> {
  const usage = [...podUsage(pod)].filter(([name]) => !/^(count\/)?pods$/.test(name));
  return Object.fromEntries(usage.map(([name, amount]) => [name, formatQuantity(amount, 'decimal')]));
}

const cpu = (requests: string, name = 'c') => ({ name, resources: { requests: { cpu: requests } } });
const sidecar = (requests: string, name = 's') => ({ ...cpu(requests, name), restartPolicy: 'Always' });
const cpuOf = (amount: string) => ({ cpu: amount, 'requests.cpu': amount });

for (const [what, spec, expected] of [
  ['nothing', { containers: [{ name: 'c' }] }, {}],
  ['containers run together', { containers: [cpu('1', 'a'), cpu('500m', 'b')] }, cpuOf('1500m')],
  [
    'init containers one by one',
    { containers: [cpu('1')], initContainers: [cpu('3'), cpu('2')] },
    cpuOf('3'),
  ],
  ['sidecars beside containers', { containers: [cpu('1')], initContainers: [sidecar('2')] }, cpuOf('3')],
  [
    'an init container beside the sidecars before it',
    { containers: [cpu('1')], initContainers: [sidecar('2'), cpu('4'), sidecar('1'), cpu('2')] },
    cpuOf('6'),
  ],
  [
    "the pod's own requests in place of those of containers",
    { containers: [cpu('1')], resources: { requests: { cpu: '4' }, limits: { 'example.com/gpu': '9' } } },
    cpuOf('4'),
  ],
  [
    'an overhead on requests, and on limits that there are',
    {
      containers: [{ resources: { requests: { cpu: '1' }, limits: { memory: '100M' } } }],
      overhead: { cpu: '250m', memory: '10M' },
    },
    { ...cpuOf('1250m'), memory: '110M', 'requests.memory': '110M', 'limits.memory': '110M' },
  ],
  [
    'a limit as the request that is not set',
    { containers: [{ resources: { limits: { cpu: '2', memory: '1G' }, requests: { cpu: '1' } } }] },
    {
      ...{ ...cpuOf('1'), 'limits.cpu': '2' },
      ...{ memory: '1G', 'requests.memory': '1G', 'limits.memory': '1G' },
    },
  ],
  [
    'huge pages and extended resources by their requests',
    {
      containers: [
        {
          resources: {
            limits: {
              'hugepages-2Mi': '4',
              'example.com/gpu': '2',
              'deviceclass.resource.kubernetes.io/a': '1',
              'kubernetes.io/other': '1',
              storage: '1',
            },
          },
        },
      ],
    },
    {
      ...{ 'hugepages-2Mi': '4', 'requests.hugepages-2Mi': '4', 'requests.example.com/gpu': '2' },
      'requests.deviceclass.resource.kubernetes.io/a': '1',
    },
  ],
  [
    'Arktos: a VM, by the larger of what it asks for and what the node has promised',
    {
      virtualMachine: {
        ...{ name: 'vm', resources: { requests: { cpu: '1' }, limits: { cpu: '3', memory: '1G' } } },
        resourcesAllocated: { cpu: '2', memory: '500M' },
      },
    },
    {
      ...{ virtualmachines: '1', ...cpuOf('2'), 'limits.cpu': '3' },
      ...{ memory: '1G', 'requests.memory': '1G', 'limits.memory': '1G' },
    },
  ],
] as const)
  t.test(`a pod asks for ${what}`, async (t) => t.strictSame(asked({ spec }), expected));

const running = (requests: string, limits: string, allocated: string, reason?: string) => ({
  containerStatuses: [
    {
      name: 'c',
      resources: { requests: { cpu: requests }, limits: { cpu: limits } },
      allocatedResources: { cpu: allocated },
    },
  ],
  conditions: reason === undefined ? [] : [{ type: 'PodResizePending', reason }],
});
const limited = (requests: string, limits: string) => ({
  containers: [{ name: 'c', resources: { requests: { cpu: requests }, limits: { cpu: limits } } }],
});

t.test('D225: a resize asks for what it adds, before a node has acted', async (t) => {
  const status = running('1', '2', '1');
  const before = podUsage({ spec: limited('1', '2'), status });
  const after = podUsage({ spec: limited('3', '3'), status });
  const added = [...exceeding(after, before)].map(
    ([name, nanos]) => `${name}=${formatQuantity(nanos, 'decimal')}`,
  );
  t.strictSame(added.sort(), ['cpu=2', 'limits.cpu=1', 'requests.cpu=2']);
});

t.test('a pod that gives back is charged until its node has lowered it', async (t) => {
  for (const [status, requests, limits] of [
    [running('2', '4', '3'), '3', '4'],
    [running('1', '1', '1'), '1', '1'],
    [running('2', '4', '3', 'Deferred'), '3', '4'],
  ] as const)
    t.strictSame(asked({ spec: limited('1', '1'), status }), { ...cpuOf(requests), 'limits.cpu': limits });
});

t.test('a resize that no node can do is not charged', async (t) => {
  const status = running('1', '2', '1', 'Infeasible');
  t.strictSame(asked({ spec: limited('64', '64'), status }), { ...cpuOf('1'), 'limits.cpu': '2' });
});

t.test('a pod that has ended is an object and nothing else', async (t) => {
  const spec = { containers: [cpu('1')] };
  const deleted = { deletionTimestamp: '2026-11-26T00:00:00Z', deletionGracePeriodSeconds: 30 };
  for (const [pod, names] of [
    [{ status: { phase: 'Failed' } }, ['count/pods']],
    [{ status: { phase: 'Succeeded' } }, ['count/pods']],
    [{ metadata: deleted }, ['count/pods', 'pods', 'cpu', 'requests.cpu']],
    [{ status: { phase: 'Running' } }, ['count/pods', 'pods', 'cpu', 'requests.cpu']],
  ] as const)
    t.strictSame([...podUsage({ spec, ...pod }).keys()], names);
});

t.test('a quota of CPU or memory obliges every container to set it', async (t) => {
  const spec = {
    initContainers: [{ name: 'i', resources: { requests: { cpu: '1', memory: '1' } } }],
    containers: [{ name: 'b' }, { name: 'a', resources: { limits: { cpu: '1' } } }],
  };
  const hard = ['pods', 'requests.memory', 'limits.cpu', 'cpu', 'requests.ephemeral-storage'];
  t.strictSame(missingRequests({ spec }, hard), [
    'cpu for: b',
    'limits.cpu for: b,i',
    'requests.memory for: a,b',
  ]);
  t.strictSame(missingRequests({ spec }, ['pods', 'limits.ephemeral-storage']), []);
  t.strictSame(missingRequests({ spec: { ...spec, resources: { limits: { cpu: '1' } } } }, hard), []);
  t.strictSame(missingRequests({ spec: { virtualMachine: { name: 'vm' } } }, ['memory']), ['memory for: vm']);
});
