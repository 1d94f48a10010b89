import t from 'tap';
import type { Condition } from '../../../src/api/tenancy-v1alpha1.ts';
import { StatusError } from '../../../src/errors/status-error.ts';
import { type MembershipChange, runPolicyController } from '../../../src/policy/controller.ts';
import { desiredRBAC } from '../../../src/policy/desired-rbac.ts';
import type { PolicyObject, PolicyObjects } from '../../../src/policy/ports.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { administration, crossTenantPolicy, policyFacts, resolvedPolicies } from '../../support/policies.ts';

const OPTIONS = { tenants: new Set(['acme', 'globex']), systemTenant: 'system', grantable: [] };
const FORMS = new Set(['abac', 'administration', 'tenant'] as const);

/** The objects of a cluster, and what happened to them. */
function createSite() {
  const objects = new Map<string, PolicyObject>();
  const calls: string[] = [];
  const memberships: MembershipChange[] = [];
  const conditions: (readonly Condition[])[] = [];
  const state: { before: (call: string) => void } = { before: () => {} };
  const call = (name: string) => {
    state.before(name);
    calls.push(name);
  };
  const keyOf = ({ kind, metadata }: PolicyObject, tenant: string) => `${kind} ${metadata.name} in ${tenant}`;
  const isKind = <K extends PolicyObject['kind']>(
    object: PolicyObject,
    kind: K,
  ): object is Extract<PolicyObject, { kind: K }> => object.kind === kind;
  const cluster: PolicyObjects = {
    async list(kind) {
      state.before(`list ${kind}`);
      return [...objects.values()].flatMap((object) => (isKind(object, kind) ? [object] : []));
    },
    async create(object, { tenant }) {
      const key = keyOf(object, tenant);
      call(`create ${key}`);
      if (objects.has(key)) return 'exists';
      objects.set(key, {
        ...object,
        metadata: { ...object.metadata, tenant, uid: key, resourceVersion: '1' },
      });
      return 'created';
    },
    async update(object, { tenant }) {
      call(`update ${keyOf(object, tenant)}`);
      objects.set(keyOf(object, tenant), object);
      return 'updated';
    },
    async delete(object, { tenant }) {
      call(`delete ${keyOf(object, tenant)}`);
      return objects.delete(keyOf(object, tenant)) ? 'deleted' : 'gone';
    },
  };
  const run = (facts: Parameters<typeof policyFacts>[0], signal = new AbortController().signal) => {
    const all = policyFacts(facts);
    const { policies, statuses } = resolvedPolicies({ facts: all });
    const found = [...all.crossTenantPolicies, ...all.administrations];
    const wanted = {
      objects: desiredRBAC(policies, OPTIONS),
      forms: FORMS,
      statuses: found.flatMap((object, at) => {
        const status = statuses[at];
        return status === undefined ? [] : [{ object, status }];
      }),
    };
    return runPolicyController(
      wanted,
      {
        objects: cluster,
        statuses: {
          async write(object, written) {
            call(`status ${object.metadata.name}`);
            conditions.push(written);
            return 'written';
          },
        },
        onMembership: (change) => memberships.push(change),
        clock: createFakeClock(Date.UTC(2026, 6, 1)),
      },
      signal,
    );
  };
  return { objects, calls, memberships, conditions, state, run };
}

const POLICY = { crossTenantPolicies: [crossTenantPolicy()] };
const ADMINISTRATION = { administrations: [administration()] };

t.test(
  'a policy becomes a role and a binding, and its author is told; the next run changes nothing',
  async (t) => {
    const { run, objects, conditions } = createSite();
    t.match(await run(POLICY), { changes: { create: 3, update: 0, delete: 0 }, failures: [] });
    t.equal(objects.size, 3);
    t.match(conditions, [
      [{ type: 'Ready', status: 'True', reason: 'Ready', lastTransitionTime: '2026-07-01T00:00:00Z' }],
    ]);
    t.match(await run(POLICY), { changes: { create: 0, update: 0, delete: 0 }, failures: [] });
  },
);

t.test('a tenant that joins an administration or leaves it is told once', async (t) => {
  const { run, memberships } = createSite();
  await run(ADMINISTRATION);
  await run(ADMINISTRATION);
  t.same(memberships, [{ verb: 'grant', administration: 'support', tenant: 'globex' }]);
  await run({});
  t.same(memberships[1], { verb: 'revoke', administration: 'support', tenant: 'globex' });
  t.equal(memberships.length, 2);
});

t.test('an object of another client under the name of a role is left as it is, and reported', async (t) => {
  const { run, objects } = createSite();
  await run(POLICY);
  const key = 'ClusterRole stonegate:policy:tenant:devs in globex';
  const role = objects.get(key);
  if (role?.kind !== 'ClusterRole') throw new Error('it is there');
  objects.set(key, { ...role, metadata: { ...role.metadata, labels: {} }, rules: [] });
  const { failures } = await run(POLICY);
  t.match(failures, [{ change: `create ${key}`, reason: /another object has its name/ }]);
  t.match(objects.get(key), { rules: [] });
});

t.test('what the API server refuses is reported, and the rest is made', async (t) => {
  const { run, state } = createSite();
  state.before = (call) => {
    if (call.startsWith('create ClusterRoleBinding'))
      throw new StatusError('ProvisioningForbidden', 'refused', { cause: new Error('not currently held') });
  };
  const { failures, changes } = await run(POLICY);
  t.match(failures, [{ reason: 'not currently held' }]);
  t.equal(changes.create, 2);
});

for (const kind of ['ClusterRole', 'ClusterRoleBinding', 'RoleBinding'])
  t.test(`nothing is changed if the ${kind}s cannot be read`, async (t) => {
    const { run, state, calls } = createSite();
    await run(POLICY);
    const before = calls.length;
    state.before = (call) => {
      if (call === `list ${kind}`) throw new StatusError('UpstreamUnavailable', 'down');
    };
    await t.rejects(run({}), { code: 'UpstreamUnavailable' });
    t.equal(calls.length, before);
  });

t.test('a replica that loses the lease during a run begins no further change', async (t) => {
  const { run, state, calls } = createSite();
  const lease = new AbortController();
  state.before = (call) => {
    if (call.startsWith('create')) lease.abort(new Error('another replica is in charge now'));
  };
  await t.rejects(run(POLICY, lease.signal), { message: 'another replica is in charge now' });
  t.equal(calls.filter((call) => call.includes('Binding')).length, 0);
});
