/** Small Keystones and the plans that result from them, for tests of provisioning. */

import { bindingsSchema } from '../../src/features/bindings/bindings-configuration.ts';
import type { KeystoneState, ProvisioningTenancy } from '../../src/features/bindings/desired-state.ts';
import type { BindingsConfiguration } from '../../src/features/bindings/feature.ts';
import { makeProvisioningPlan } from '../../src/features/bindings/plan.ts';
import type { ReadProjectLimits } from '../../src/features/bindings/project-quota.ts';
import type { KeystoneDirectory } from '../../src/identity/keystone/keystone-directory.ts';
import { applyPlan } from '../../src/kubernetes/reconcile/apply.ts';
import type { Plan } from '../../src/kubernetes/reconcile/plan.ts';
import type { RoleAssignment } from '../../src/tenancy/keystone-v3.ts';
import type { MemoryCluster } from './memory-cluster.ts';

export type Mode = 'arktos' | 'shared';

const acme = { id: 'd-acme', name: 'acme', enabled: true };
export const web = { id: 'p-web', name: 'web', domainID: acme.id, enabled: true };
export const alice = { id: 'u-alice', name: 'alice', domain: { id: acme.id, name: acme.name } };

/** A Keystone with one domain and one project. */
export function smallKeystone(changes: Partial<KeystoneState> = {}): KeystoneState {
  const holders = { kind: 'groups', roleNames: ['admin', 'member', 'reader', 'service'] } as const;
  return { domains: [acme], projects: [web], holders, ...changes };
}

/** A role of alice on the project `web`. */
export function onWeb(roleName: string, user = alice): RoleAssignment {
  const project = { id: web.id, name: web.name, domain: alice.domain };
  return { user, role: { id: `r-${roleName}`, name: roleName }, scope: { kind: 'project', project } };
}

export function asUsers(
  assignments: readonly RoleAssignment[],
  disabled: readonly string[] = [],
): KeystoneState['holders'] {
  return { kind: 'users', assignments, disabledUserIDs: new Set(disabled) };
}

/** The section `bindings` with its defaults. */
export function bindingRules(configured: object = {}): BindingsConfiguration {
  return bindingsSchema.parse(configured);
}

export function tenancyOf(mode: Mode): ProvisioningTenancy {
  return {
    labelsNamespaces: false,
    hasTenantsInPaths: mode === 'arktos',
    tenantOf: ({ name }) =>
      /^[a-z0-9-]+$/.test(name) && name !== 'system'
        ? { tenant: name }
        : { refused: 'no tenant belongs to it' },
    userNameOf: (user, domain) =>
      user.name.trim() === ''
        ? { refused: 'the user name is empty' }
        : { name: `${domain.name}:${user.name}@${user.domain.id}` },
  };
}

/** The limit of pods for each project. */
export function podLimits(pods: string): ReadProjectLimits {
  return async () => ({ ofProject: () => ({ pods }), refusals: [] });
}

/** The directory interface, with the data of this state. */
export function directoryOf({ domains, projects, holders }: KeystoneState): KeystoneDirectory {
  const users = holders.kind === 'users' ? holders : asUsers([]);
  const all = users.kind === 'users' ? users.assignments : [];
  return {
    domains: async () => domains,
    projects: async () => projects,
    roleNames: async () => (holders.kind === 'groups' ? holders.roleNames : []),
    roleAssignments: async () => all,
    roleAssignmentsOn: async ({ kind, id }) =>
      all.filter(
        ({ scope }) =>
          (kind === 'project' && scope.kind === kind && scope.project.id === id) ||
          (kind === 'domain' && scope.kind === kind && scope.domain.id === id),
      ),
    disabledUserIDs: async () => (users.kind === 'users' ? users.disabledUserIDs : new Set()),
  };
}

/** `subjects` is derived from the state of Keystone. */
export async function planFor(
  cluster: MemoryCluster,
  keystone: KeystoneState,
  {
    mode = 'arktos',
    rules = bindingRules(),
    readLimits,
  }: { mode?: Mode; rules?: BindingsConfiguration; readLimits?: ReadProjectLimits } = {},
): Promise<Plan> {
  return makeProvisioningPlan(
    {
      directory: directoryOf(keystone),
      objects: cluster,
      rules: { ...rules, subjects: keystone.holders.kind },
      tenancy: tenancyOf(mode),
      readLimits,
      signal: new AbortController().signal,
    },
    'system',
  );
}

/** Applies a plan, however much it deletes unless `force` is false. */
export function carryOut(cluster: MemoryCluster, plan: Plan, force = true) {
  return applyPlan(plan, {
    objects: cluster,
    maxDeletedShare: 0.2,
    force,
    signal: new AbortController().signal,
  });
}
