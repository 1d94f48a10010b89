/**
 * The quota usage of any object that a client sends to the webhook is calculated without an error and is
 * never negative.
 */
import fc from 'fast-check';
import t from 'tap';
import { objectUsage } from '../../src/kubernetes/resource-quota/object-usage.ts';
import { missingRequests } from '../../src/kubernetes/resource-quota/pod-usage.ts';
import { exceeding, sum, type Usage } from '../../src/kubernetes/resource-quota/usage.ts';

/** Whether no resource of `other` is larger than in `usage`. */
const atLeast = (usage: Usage, other: Usage) => exceeding(other, usage).size === 0;

/** Fields that affect usage, in any place and with any value. */
const field = fc.constantFrom(
  ...[
    'spec',
    'status',
    'metadata',
    'containers',
    'initContainers',
    'resources',
    'requests',
    'limits',
    'name',
  ],
  ...['overhead', 'containerStatuses', 'allocatedResources', 'virtualMachine', 'conditions', 'annotations'],
  ...[
    'cpu',
    'memory',
    'storage',
    'ports',
    'type',
    'storageClassName',
    'restartPolicy',
    'toString',
    '__proto__',
  ],
);
const { object } = fc.letrec<{ object: unknown; value: unknown }>((tie) => ({
  object: fc.dictionary(field, tie('value'), { maxKeys: 6 }),
  value: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom(null, true, 1, 0.5, '1', '1Gi', '64m', '-1', '1e999', 'x', 'Always', 'LoadBalancer'),
    tie('object'),
    fc.array(tie('value'), { maxLength: 3 }),
  ),
}));
const resource = fc.constantFrom('pods', 'services', 'persistentvolumeclaims', 'configmaps', 'widgets');

t.test('the usage of an object with any content is calculated, and is never negative', async () => {
  fc.assert(
    fc.property(resource, fc.anything(), object, (resource, anything, likely) => {
      for (const one of [anything, likely]) {
        const usage = objectUsage({ group: '', resource }, one);
        missingRequests(one, ['cpu', 'limits.memory']);
        if (!usage.has(`count/${resource}`) || !atLeast(usage, new Map())) return false;
        if ([...usage.values()].some((amount) => amount < 0n)) return false;
      }
      return true;
    }),
    { numRuns: 2_000 },
  );
});

t.test('another container never lowers the usage of a pod', async () => {
  const resources = fc.dictionary(
    fc.constantFrom('cpu', 'memory', 'ephemeral-storage', 'hugepages-2Mi', 'example.com/gpu'),
    fc.nat(9).map(String),
  );
  const container = fc.record({
    resources: fc.record({ requests: resources, limits: resources }),
    restartPolicy: fc.constantFrom('Always', undefined),
  });
  const containers = fc.array(container, { maxLength: 4 });
  fc.assert(
    fc.property(containers, containers, container, fc.nat(4), (all, init, another, at) => {
      const usage = (containers: unknown[], initContainers: unknown[]) =>
        objectUsage({ group: '', resource: 'pods' }, { spec: { containers, initContainers } });
      const before = usage(all, init);
      return (
        atLeast(usage([...all, another], init), before) &&
        atLeast(usage(all, init.toSpliced(at, 0, another)), before) &&
        atLeast(sum([before, usage([another], [])]), usage([...all, another], init))
      );
    }),
  );
});
