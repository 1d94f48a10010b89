import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { desiredRBAC } from '../../../../src/features/cross-tenant/desired-rbac.ts';
import type { MembershipEvent } from '../../../../src/features/cross-tenant/membership-log.ts';
import { createPolicyReconciler } from '../../../../src/features/cross-tenant/policy-reconciler.ts';
import type { Condition } from '../../../../src/features/status-conditions.ts';
import { placeName } from '../../../../src/kubernetes/kubernetes-object.ts';
import type { PolicyForm } from '../../../../src/proxy/tenant-entry.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { createMemoryObjects, type Stored } from '../../../support/memory-objects.ts';
import {
  administration,
  crossTenantPolicy,
  policyFacts,
  resolvedPolicies,
} from '../../../support/policies.ts';

const OPTIONS = { tenants: new Set(['acme', 'globex']), systemTenant: 'system', grantable: [] };
const FORMS: ReadonlySet<PolicyForm> = new Set(['abac', 'administration', 'tenant']);

/** The objects of a cluster, and what happened to them. */
function createSite() {
  const memory = createMemoryObjects();
  const memberships: MembershipEvent[] = [];
  const conditions: (readonly Condition[])[] = [];
  /** Reconciles once; lists each change, such as `create ClusterRole in acme`. */
  const run = async (facts: Parameters<typeof policyFacts>[0], { forms = FORMS } = {}) => {
    const all = policyFacts(facts);
    const { policies, statuses } = resolvedPolicies({ facts: all });
    const found = [...all.crossTenantPolicies, ...all.administrations];
    const reconciler = createPolicyReconciler({
      objects: {
        ...memory,
        async updateStatus(_kind, _place, object, status) {
          conditions.push('conditions' in status ? Object(status.conditions) : []);
          return { ...object };
        },
      },
      systemTenant: 'system',
      wanted: () => ({
        objects: desiredRBAC(policies, OPTIONS),
        forms,
        statuses: found.flatMap((object, at) => {
          const status = statuses[at];
          return status === undefined ? [] : [{ object, status }];
        }),
      }),
      onMembership: (change) => memberships.push(change),
      clock: createFakeClock(Date.UTC(2026, 6, 1)),
    });
    const { signal } = new AbortController();
    const plan = await reconciler.plan(signal);
    const changes = plan.changes.map(
      ({ action, object, place }) => `${action} ${object.kind} in ${placeName(place)}`,
    );
    return { changes, ...(await reconciler.apply(plan, signal)) };
  };
  /** Another client changes every object of a kind. */
  const edit = (kind: string, change: (one: Stored) => object) => {
    for (const one of memory.all())
      if (one.object.kind === kind) memory.put(one.kind, one.place, { ...one.object, ...change(one) });
  };
  return { memory, memberships, conditions, run, edit };
}

const POLICY = { crossTenantPolicies: [crossTenantPolicy()] };
const ADMINISTRATION = { administrations: [administration()] };

t.test('a policy becomes a role and a binding, and its status is Ready', async (t) => {
  const { run, memory, conditions } = createSite();
  const { changes, failures } = await run(POLICY);
  t.same(changes, [
    'create ClusterRole in system',
    'create ClusterRole in globex',
    'create ClusterRoleBinding in globex',
  ]);
  t.same(failures, []);
  t.equal(memory.all().length, 3);
  t.match(conditions, [
    [{ type: 'Ready', status: 'True', reason: 'Ready', lastTransitionTime: '2026-07-01T00:00:00Z' }],
  ]);
  t.same((await run(POLICY)).changes, [], 'the next run changes nothing');
});

t.test('bindings are deleted before the roles that they name', async (t) => {
  const { run } = createSite();
  await run(POLICY);
  t.same((await run({})).changes, [
    'delete ClusterRoleBinding in globex',
    'delete ClusterRole in system',
    'delete ClusterRole in globex',
  ]);
});

t.test('a binding is not written if its role could not be', async (t) => {
  const { run, memory } = createSite();
  memory.before = (verb, { resource }) => {
    if (verb === 'create' && resource === 'clusterroles') throw new StatusError('AccessDenied', 'no');
  };
  const { failures } = await run(POLICY);
  t.equal(failures.length, 3);
  t.same(memory.all(), []);
});

t.test('nothing is changed if objects of a kind cannot be read', async (t) => {
  const { run, memory } = createSite();
  await run(POLICY);
  memory.before = (verb, { resource }) => {
    if (verb === 'list' && resource === 'clusterrolebindings')
      throw new StatusError('UpstreamUnavailable', 'down');
  };
  await t.rejects(run({}), { code: 'UpstreamUnavailable' });
  t.equal(memory.all().length, 3);
});

t.test('another client’s change of rules or subjects is undone', async (t) => {
  const { run, edit } = createSite();
  await run(POLICY);
  edit('ClusterRole', () => ({ rules: [] }));
  edit('ClusterRoleBinding', () => ({ subjects: [] }));
  t.same((await run(POLICY)).changes, [
    'update ClusterRole in system',
    'update ClusterRole in globex',
    'update ClusterRoleBinding in globex',
  ]);
});

t.test('objects of policy forms that are not known stay unchanged', async (t) => {
  const { run } = createSite();
  await run(POLICY);
  const forms: ReadonlySet<PolicyForm> = new Set(['abac']);
  t.same((await run({}, { forms })).changes, []);
  t.same((await run(ADMINISTRATION, { forms })).changes, []);
});

t.test('an object that only looks like Stonegate’s stays unchanged', async (t) => {
  const { run, memory } = createSite();
  await run(POLICY);
  for (const { kind, place, object } of memory.all())
    memory.put(kind, place, { ...object, metadata: { ...object.metadata, name: 'mine' } });
  await run({});
  t.equal(memory.all().length, 3);
});

t.test('a tenant that joins or leaves an administration is reported once', async (t) => {
  const { run, memberships } = createSite();
  for (const facts of [ADMINISTRATION, ADMINISTRATION, {}]) await run(facts);
  const event = { administration: 'support', tenant: 'globex', reason: 'support contract' };
  t.same(memberships, [
    { verb: 'grant', ...event },
    { verb: 'revoke', ...event },
  ]);
});
