/**
 * Whatever a policy permits, the RBAC objects compiled from it allow. Nothing that can be written in a policy
 * goes beyond what policies may grant, reaches the system tenant, or outlives the removal of the policy.
 */
import fc from 'fast-check';
import t from 'tap';
import { type DesiredPolicyObject, desiredRBAC } from '../../src/features/cross-tenant/desired-rbac.ts';
import type { Policy, PolicyFacts } from '../../src/features/cross-tenant/policy.ts';
import { createPolicySet } from '../../src/features/cross-tenant/policy-set.ts';
import type { PolicyRule } from '../../src/kubernetes/kubernetes-object.ts';
import type { StoredBinding, StoredRole } from '../../src/kubernetes/rbac-v1.ts';
import type { Entry, PolicyAttributes } from '../../src/proxy/tenant-entry.ts';
import { policyGroup } from '../../src/proxy/tenant-entry.ts';
import { allows } from '../../src/rbac/decide.ts';
import { grantableRules } from '../../src/rbac/grantable-rules.ts';
import { roleAllows } from '../../src/rbac/rules.ts';
import {
  ALICE_READS_PODS,
  abacLine,
  attributes,
  crossTenantPolicy,
  entry,
  NOW,
  policyFacts,
  readAbacFile,
  resolvedPolicies,
} from '../support/policies.ts';
import {
  abacFile,
  anySpec,
  configuredAdministrations,
  entries,
  facts,
  grantable,
  requests,
} from '../support/random-policies.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  indexOf,
  rbacUser,
  roleBinding,
} from '../support/rbac-objects.ts';

interface World {
  readonly policies: readonly Policy[];
  readonly granted: readonly PolicyRule[];
  readonly known: PolicyFacts;
}

const world: fc.Arbitrary<World> = grantable.chain((granted) =>
  fc
    .record({ abac: abacFile(granted), administrations: configuredAdministrations, known: facts })
    .map(({ abac, administrations, known }) => ({
      granted,
      known,
      policies: resolvedPolicies({ abac, administrations, facts: known }, { grantable: granted }).policies,
    })),
);

function compiled({ policies, granted, known }: World): readonly DesiredPolicyObject[] {
  const tenants = new Set(known.tenants.map(({ name }) => name));
  return desiredRBAC(policies, { tenants, systemTenant: 'system', grantable: granted });
}

function stored({ tenant, object }: DesiredPolicyObject): StoredRole | StoredBinding {
  const { name, namespace = '' } = object.metadata;
  if (object.kind === 'ClusterRole') return clusterRole(name, object.rules, { tenant });
  const roleRef = `${object.roleRef.kind}/${object.roleRef.name}`;
  const subjects = object.subjects.map((subject) => group(subject.name));
  return object.kind === 'RoleBinding'
    ? roleBinding(namespace, name, roleRef, subjects, tenant)
    : clusterRoleBinding(name, roleRef, subjects, tenant);
}

/** Requests at the limits of the policies; most of them are permitted by one. */
function aimed(policies: readonly Policy[]): readonly (readonly [Entry, PolicyAttributes])[] {
  return policies.flatMap(({ subjects, tenants, rules }) =>
    subjects.flatMap(({ tenant: home, user = 'carol', group: held }) =>
      [...tenants].flatMap((tenant) =>
        rules.slice(0, 3).flatMap(({ verbs, apiGroups = [], resources = [], resourceNames = [] }) =>
          ['', 'a', 'c'].map((namespace) => {
            const who = entry(user, { home, tenant, groups: held === undefined ? [] : [held] });
            const { 0: apiGroup = '' } = apiGroups;
            const full = resources.at(namespace.length) ?? resources[0] ?? '';
            const what = { namespace, apiGroup, name: resourceNames[0] ?? '' };
            return [who, attributes(verbs.at(-1) ?? '', full, what)] as const;
          }),
        ),
      ),
    ),
  );
}

/** Whether RBAC allows the request to the guest that the proxy impersonates. */
function rbacAllows(world: World, { home, name, tenant }: Entry, policy: string, asked: PolicyAttributes) {
  if (!asked.isResourceRequest) return true;
  const { isResourceRequest: _, ...question } = asked;
  const guest = rbacUser(
    `${tenant}:guest:${home}:${name}`,
    ['stonegate:guest', `stonegate:guest:${home}`, policy],
    tenant,
  );
  return allows(indexOf(...compiled(world).map(stored)), guest, { ...question, tenant });
}

t.test('the RBAC objects compiled from policies allow whatever the policies permit', async (t) => {
  let permits = 0;
  fc.assert(
    fc.property(world, fc.array(fc.tuple(entries, requests)), (world, asked) => {
      const set = createPolicySet(world.policies);
      for (const [entry, request] of [...asked, ...aimed(world.policies)]) {
        const permit = set.permits(entry, request, NOW);
        if (permit === undefined) continue;
        permits += 1;
        if (!rbacAllows(world, entry, policyGroup(permit.policy), request)) return false;
      }
      return true;
    }),
    { numRuns: 1_000 },
  );
  t.ok(permits > 1_000, `enough requests (${permits}) were permitted`);
});

t.test(
  'policies permit nothing beyond what they may grant, nor in the system tenant or the home tenant',
  async () => {
    fc.assert(
      fc.property(world, fc.array(fc.tuple(entries, requests)), ({ policies, granted }, asked) => {
        const set = createPolicySet(policies);
        return [...asked, ...aimed(policies)].every(([entry, request]) => {
          if (set.permits(entry, request, NOW) === undefined) return true;
          if (!request.isResourceRequest || entry.tenant === 'system' || entry.tenant === entry.home)
            return false;
          return (
            roleAllows({ rules: grantableRules(granted) }, { ...request, tenant: entry.tenant }) &&
            !['authorization.k8s.io', 'tenancy.stonegate.dev'].includes(request.apiGroup) &&
            !['bind', 'escalate', 'impersonate'].includes(request.verb)
          );
        });
      }),
      { numRuns: 2_000 },
    );
  },
);

t.test('each rule of a policy is concrete, and no policy enters the system tenant', async () => {
  fc.assert(
    fc.property(world, ({ policies }) =>
      policies.every(
        ({ rules, tenants, subjects }) =>
          !JSON.stringify(rules).includes('*') &&
          !JSON.stringify(rules).includes('nonResourceURLs') &&
          ['system', 'all', '*', ''].every((tenant) => !tenants.has(tenant)) &&
          subjects.every(
            ({ tenant, user = '', group = '' }) =>
              !tenants.has(tenant) && !/^(?:system|stonegate|guest):/.test(user || group),
          ),
      ),
    ),
    { numRuns: 1_000 },
  );
});

t.test('a line for every resource permits no Secrets, credentials, connections or RBAC kinds', async () => {
  const line = fc
    .tuple(grantable, fc.boolean(), fc.constantFrom('*', '', 'apps', 'example.com'))
    .map(([granted, readonly, apiGroup]) => {
      const spec = { ...ALICE_READS_PODS, user: '*', resource: '*', apiGroup, readonly };
      return readAbacFile(abacLine(spec), granted).policies;
    });
  const closed = /^secrets|\/(?:exec|attach|portforward|proxy|token|ephemeralcontainers)$/;
  fc.assert(
    fc.property(line, entries, requests, (abac, entry, request) => {
      const set = createPolicySet(resolvedPolicies({ abac }).policies);
      if (!request.isResourceRequest || set.permits(entry, request, NOW) === undefined) return true;
      const full = `${request.resource}/${request.subresource}`.replace(/\/$/, '');
      return !closed.test(full) && request.apiGroup !== 'rbac.authorization.k8s.io';
    }),
    { numRuns: 5_000 },
  );
});

t.test(
  'RBAC objects are written only into entered tenants, and the system tenant gets no binding',
  async () => {
    fc.assert(
      fc.property(world, (world) =>
        compiled(world).every(({ tenant, object }) =>
          tenant === 'system'
            ? object.kind === 'ClusterRole'
            : world.policies.some(({ tenants }) => tenants.has(tenant)) && tenant !== 'all',
        ),
      ),
      { numRuns: 1_000 },
    );
  },
);

t.test(
  'a policy that no schema has validated grants nothing unless it is ready, and affects no other',
  async () => {
    fc.assert(
      fc.property(anySpec, (spec) => {
        const odd = Object.assign(crossTenantPolicy({}, { name: 'odd' }), { spec });
        const { policies, statuses } = resolvedPolicies({
          facts: policyFacts({ crossTenantPolicies: [odd, crossTenantPolicy()] }),
        });
        const isReady = statuses.find(({ name }) => name === 'odd')?.ready;
        return (
          policies.some(({ name }) => name === 'devs') &&
          policies.some(({ name }) => name === 'odd') === isReady
        );
      }),
      { numRuns: 5_000 },
    );
  },
);

t.test(
  'any text of a policy file results in policies or in problems with a line, never in both',
  async () => {
    const mutated = fc
      .tuple(fc.nat(300), fc.nat(3), fc.string({ unit: 'binary', maxLength: 5 }))
      .map(([at, length, text]) => `${abacLine().slice(0, at)}${text}${abacLine().slice(at + length)}`);
    fc.assert(
      fc.property(fc.oneof(mutated, fc.string({ unit: 'binary' })), (text) => {
        const { policies, problems } = readAbacFile(text);
        if (problems.length > 0) return policies.length === 0 && problems.every(({ line = 0 }) => line > 0);
        return policies.every(
          ({ tenants, subjects: [subject], rules }) =>
            !tenants.has(subject?.tenant ?? '') && !tenants.has('system') && rules.length > 0,
        );
      }),
      { numRuns: 20_000 },
    );
  },
);
