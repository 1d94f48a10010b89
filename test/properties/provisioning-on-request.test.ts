/**
 * In any cluster, the request of a project’s user creates the same objects as a complete run would, and
 * changes no objects of other clients.
 */
import fc from 'fast-check';
import t from 'tap';
import type { KeystoneState } from '../../src/features/bindings/desired-state.ts';
import { isManaged } from '../../src/features/bindings/managed-object.ts';
import { makeProjectPlan } from '../../src/features/bindings/plan.ts';
import { applyPlan } from '../../src/kubernetes/reconcile/apply.ts';
import { createMemoryCluster, type MemoryCluster } from '../support/memory-cluster.ts';
import {
  bindingRules,
  carryOut,
  directoryOf,
  type Mode,
  planFor,
  podLimits,
  tenancyOf,
} from '../support/provisioning.ts';
import { enabledKeystone } from '../support/wild-keystone.ts';

const RUNS = { numRuns: 150 };
const readLimits = podLimits('10');
const { signal } = new AbortController();
const mode = fc.constantFrom<Mode>('arktos', 'shared');
const format = fc.constantFrom('%i', '%n', '%n-%d');

interface Coming {
  readonly cluster: MemoryCluster;
  readonly state: KeystoneState;
  readonly mode: Mode;
  readonly format: string;
}

/** A user of the first project sends a request. */
async function come({ cluster, state, mode: of, format: namespaceFormat }: Coming) {
  const [project] = state.projects;
  const domain = state.domains.find(({ id }) => id === project?.domainID);
  if (project === undefined || domain === undefined) throw new Error('no projects');
  const rules = { ...bindingRules({ namespaceFormat }), subjects: state.holders.kind };
  const { id, name: called } = project;
  const plan = await makeProjectPlan(
    { domain: { id: domain.id, name: domain.name }, project: { id, name: called } },
    { directory: directoryOf(state), objects: cluster, rules, tenancy: tenancyOf(of), readLimits, signal },
  );
  const applied = await applyPlan(plan, { objects: cluster, maxDeletedShare: 1, force: true, signal });
  if (applied.failures.length > 0) throw new Error(JSON.stringify(applied.failures));
  return { project, domain, plan };
}

const state = (cluster: MemoryCluster) =>
  new Map([...cluster.objects].map(([key, { object }]) => [key, object.metadata.resourceVersion]));

t.test("no other client's objects are created, changed or deleted", async () => {
  await fc.assert(
    fc.asyncProperty(
      enabledKeystone,
      enabledKeystone,
      mode,
      format,
      async (before, after, of, namespaceFormat) => {
        const cluster = createMemoryCluster();
        await carryOut(
          cluster,
          await planFor(cluster, before, { mode: of, rules: bindingRules({ namespaceFormat }) }),
        );
        const [was, objects] = [state(cluster), new Map(cluster.objects)];
        const { project, domain } = await come({ cluster, state: after, mode: of, format: namespaceFormat });
        const is = state(cluster);
        const touched = new Set([...was.keys(), ...is.keys()].filter((key) => was.get(key) !== is.get(key)));
        return [...touched].every((key) => {
          const { metadata, kind } = (cluster.objects.get(key) ?? objects.get(key))?.object ?? {};
          const labels = metadata?.labels ?? {};
          const its = labels['stonegate.dev/project-id'];
          if (kind === 'ClusterRole') return its === undefined;
          return its === undefined ? labels['stonegate.dev/domain-id'] === domain.id : its === project.id;
        });
      },
    ),
    RUNS,
  );
});

t.test('a complete run finds nothing left to do for that project', async () => {
  await fc.assert(
    fc.asyncProperty(enabledKeystone, mode, async (given, of) => {
      const cluster = createMemoryCluster();
      const { project } = await come({ cluster, state: given, mode: of, format: '%i' });
      const plan = await planFor(cluster, given, { mode: of, readLimits });
      return plan.changes.every(
        ({ object }) => object.metadata.labels?.['stonegate.dev/project-id'] !== project.id,
      );
    }),
    RUNS,
  );
});

t.test('a second request finds nothing left to provision', async () => {
  await fc.assert(
    fc.asyncProperty(enabledKeystone, mode, format, async (given, of, namespaceFormat) => {
      const cluster = createMemoryCluster();
      const coming = { cluster, state: given, mode: of, format: namespaceFormat };
      await come(coming);
      return (await come(coming)).plan.changes.length === 0;
    }),
    RUNS,
  );
});

t.test('no user gets a binding if another project owns the namespace', async () => {
  await fc.assert(
    fc.asyncProperty(enabledKeystone, mode, fc.boolean(), async (given, of, labelled) => {
      const cluster = createMemoryCluster();
      const [project] = given.projects;
      const domain = given.domains.find(({ id }) => id === project?.domainID);
      const marks = { 'stonegate.dev/managed-by': 'stonegate', 'stonegate.dev/project-id': 'p-other' };
      const place = of === 'arktos' && domain !== undefined ? { tenant: domain.name } : {};
      const metadata = { name: project?.id ?? '', ...(labelled && { labels: marks }) };
      cluster.put({ apiVersion: 'v1', kind: 'Namespace', metadata }, place);
      const { plan } = await come({ cluster, state: given, mode: of, format: '%i' });
      const bound = [...cluster.objects.values()].some(
        ({ object }) => object.kind === 'RoleBinding' && isManaged(object),
      );
      return !bound && plan.refusals.length > 0;
    }),
    RUNS,
  );
});
