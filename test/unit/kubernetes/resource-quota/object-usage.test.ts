/** Cases beyond `test/conformance/kubernetes/quota-usage.test.ts`, which asks a real kube-apiserver. */
import t from 'tap';
import { formatQuantity } from '../../../../src/kubernetes/quantity.ts';
import { isQuotaName, objectUsage } from '../../../../src/kubernetes/resource-quota/object-usage.ts';

function asked(resource: string, object: unknown, group = ''): string[] {
  return [...objectUsage({ group, resource }, object)].map(
    ([name, amount]) => `${name}=${formatQuantity(amount, 'decimal')}`,
  );
}

t.test('objects of any kind are counted, some also by an older name', async (t) => {
  t.strictSame(asked('deployments', {}, 'apps'), ['count/deployments.apps=1']);
  t.strictSame(asked('secrets', {}), ['count/secrets=1']);
  t.strictSame(asked('configmaps', {}), ['count/configmaps=1', 'configmaps=1']);
  t.strictSame(asked('namespaces', {}), ['count/namespaces=1', 'namespaces=1']);
  t.strictSame(asked('pods', {}, 'metrics.k8s.io'), ['count/pods.metrics.k8s.io=1']);
  t.strictSame(asked('constructor', {}), ['count/constructor=1']);
});

const ports = [{ port: 80, nodePort: 30_080 }, { port: 81 }];
for (const [spec, balancers, nodePorts] of [
  [{ type: 'ExternalName' }, 0, 0],
  [{ type: 'NodePort', ports, allocateLoadBalancerNodePorts: false }, 0, 2],
  [{ type: 'LoadBalancer', ports, allocateLoadBalancerNodePorts: false }, 1, 1],
] as const)
  t.test(`ports of a service: ${JSON.stringify(spec)}`, async (t) =>
    t.strictSame(asked('services', { spec }), [
      ...['count/services=1', 'services=1'],
      ...[`services.loadbalancers=${balancers}`, `services.nodeports=${nodePorts}`],
    ]),
  );

const claim = (storage: string, more: object = {}) => ({
  spec: { resources: { requests: { storage } }, ...more },
});
const gold = 'gold.storageclass.storage.k8s.io';
for (const [what, object, expected] of [
  [
    'no class, if the older annotation says so',
    {
      ...claim('1G', { storageClassName: 'gold' }),
      metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': '' } },
    },
    ['persistentvolumeclaims=1', 'requests.storage=1G'],
  ],
  [
    'what it requests, not what its volume has',
    { ...claim('1G'), status: { capacity: { storage: '9G' }, allocatedResources: { storage: '500M' } } },
    ['persistentvolumeclaims=1', 'requests.storage=1G'],
  ],
] as const)
  t.test(`a claim is charged with ${what}`, async (t) =>
    t.strictSame(asked('persistentvolumeclaims', object), ['count/persistentvolumeclaims=1', ...expected]),
  );

t.test('a quota may name only what can be counted', async (t) => {
  for (const name of [
    ...['cpu', 'limits.memory', 'requests.ephemeral-storage', 'pods', 'requests.storage', 'configmaps'],
    ...['namespaces', 'virtualmachines', 'services.nodeports', 'hugepages-2Mi', 'requests.hugepages-1Gi'],
    ...['count/secrets', 'count/deployments.apps', `${gold}/requests.storage`],
    ...['requests.example.com/gpu', 'requests.deviceclass.resource.kubernetes.io/a'],
  ])
    t.ok(isQuotaName(name), name);
  for (const name of [
    ...['', 'gpu', 'secrets', 'storage', 'limits.pods', 'requests.storage/x/y', 'hugepages-', 'hugepages-a'],
    ...['count/', 'count/Pods', 'count/a/b', 'example.com/gpu', 'requests.kubernetes.io/a', `${gold}/cpu`],
    ...['constructor', '__proto__', 'cpu ', 'limits.example.com/gpu'],
  ])
    t.notOk(isQuotaName(name), name);
});
