/**
 * Plans what the cluster needs to match Keystone: all of it, or one project or domain on a user's request.
 * The partial plan reads only that project's objects, so it can remove nothing of any other. Changed
 * objects are restored and managed bindings that are no longer desired are deleted. Namespaces, tenants,
 * roles and quotas are never deleted, nor namespaces and tenants changed; objects that Stonegate did not
 * create stay as they are.
 */

import type { KeystoneDirectory } from '../../identity/keystone/keystone-directory.ts';
import { KINDS, type ObjectKind, placeOf, type StoredObject } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { makePlan, type Plan } from '../../kubernetes/reconcile/plan.ts';
import { BASIC_USER_ROLE } from '../../rbac/cluster-roles.ts';
import type { DomainReference } from '../../tenancy/keystone-v3.ts';
import type { BindingsConfiguration } from './bindings-configuration.ts';
import { type DesiredObjectRules, desiredObjects } from './desired-objects.ts';
import { computeDesiredState, type DesiredState, type ProvisioningTenancy } from './desired-state.ts';
import type { Holders } from './grants.ts';
import { isManaged, labelValue, ownerLabels, type StoredBinding } from './managed-object.ts';
import type { ProjectLimits, ReadProjectLimits } from './project-quota.ts';
import { type ClusterState, readCluster, readGroups, readKeystone, readPart } from './read-state.ts';
import { resolveNamespaces } from './resolved-state.ts';

export interface PlanSources {
  readonly directory: KeystoneDirectory;
  readonly objects: Objects;
  readonly rules: BindingsConfiguration;
  readonly tenancy: ProvisioningTenancy;
  /** Undefined: no quotas are provisioned. */
  readonly readLimits?: ReadProjectLimits | undefined;
  readonly signal: AbortSignal;
}

/**
 * @param systemTenant in which nothing is ever created
 * @throws StatusError if either side cannot be read completely
 */
export async function makeProvisioningPlan(sources: PlanSources, systemTenant: string): Promise<Plan> {
  const { directory, rules, tenancy, readLimits } = sources;
  const desired = computeDesiredState(await readKeystone(directory, rules), rules, tenancy);
  const limits = await readLimits?.();
  const { hasTenantsInPaths } = tenancy;
  const wanted = desired.tenants.map(({ tenant }) => tenant);
  const cluster = await readCluster({
    ...sources,
    hasTenantsInPaths,
    systemTenant,
    wanted,
    hasQuotas: limits !== undefined,
  });
  return computePlan(desired, cluster, { ...rules, hasTenantsInPaths }, limits);
}

/** The scope of a user's token: a project of a domain, or the domain. Neither is disabled. */
export interface ProvisioningScope {
  readonly domain: DomainReference;
  readonly project?: { readonly id: string; readonly name: string };
}

/** @throws StatusError if either side cannot be read completely */
export async function makeProjectPlan(scope: ProvisioningScope, sources: PlanSources): Promise<Plan> {
  const { rules, tenancy, readLimits } = sources;
  const limits = await readLimits?.();
  const domain = { ...scope.domain, enabled: true };
  const project = scope.project && { ...scope.project, domainID: domain.id, enabled: true };
  const holders = await readHolders(scope, sources);
  const state = { domains: [domain], projects: project === undefined ? [] : [project], holders };
  const desired = computeDesiredState(state, rules, tenancy);
  const { hasTenantsInPaths } = tenancy;
  const part = await readPart(desired, {
    ...sources,
    ...rules,
    hasTenantsInPaths,
    hasQuotas: limits !== undefined,
  });
  return computePlan(desired, part, { ...rules, hasTenantsInPaths }, limits);
}

async function readHolders(
  { project, domain }: ProvisioningScope,
  { directory, rules }: PlanSources,
): Promise<Holders> {
  if (rules.subjects === 'groups') return readGroups(directory);
  const [onProject, onDomain, disabledUserIDs] = await Promise.all([
    project === undefined ? [] : directory.roleAssignmentsOn({ kind: 'project', id: project.id }),
    directory.roleAssignmentsOn({ kind: 'domain', id: domain.id }),
    directory.disabledUserIDs(),
  ]);
  return { kind: 'users', assignments: [...onProject, ...onDomain], disabledUserIDs };
}

function computePlan(
  desired: DesiredState,
  cluster: ClusterState,
  rules: DesiredObjectRules,
  limits: ProjectLimits | undefined,
): Promise<Plan> {
  const resolved = resolveNamespaces(desired, cluster);
  const isUntouched = untouchedBy(desired, rules);
  const others = cluster.places.flatMap(({ tenant, namespaces, clusterRoles, quotas }) => [
    ...existingOf('Namespace', namespaces, tenant),
    ...existingOf('ClusterRole', clusterRoles, tenant),
    ...existingOf('ResourceQuota', quotas, tenant),
  ]);
  const bindings = cluster.places.flatMap(({ tenant, roleBindings, clusterRoleBindings }) => [
    ...existingOf('RoleBinding', roleBindings, tenant),
    ...existingOf('ClusterRoleBinding', clusterRoleBindings, tenant),
  ]);
  return makePlan({
    desired: desiredObjects(resolved, rules, limits),
    existing: [
      ...existingOf('Tenant', cluster.tenants),
      ...others,
      ...bindings.map((one) => ({
        ...one,
        deletion:
          isManaged(one.object) && !isUntouched(one.object)
            ? { reason: staleReason(one.object), isOwned: isManaged }
            : undefined,
      })),
    ],
    refusals: [...desired.refusals, ...resolved.refusals, ...(limits?.refusals ?? [])],
    // The basic-user binding always stays; counting it would understate the share of deletions.
    guarded: bindings
      .filter(({ object }) => isManaged(object) && object.roleRef.name !== BASIC_USER_ROLE)
      .map(({ place }) => place),
  });
}

/**
 * Describes the binding by its role and subjects: a user who may write rolebindings there may have changed
 * its annotations.
 */
function staleReason({ roleRef, subjects }: StoredBinding): string {
  const [first = 'nobody', ...others] = subjects.map(({ name }) => name);
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `nothing asks any more for ${roleRef.name} of ${first}${more}`;
}

function existingOf<T extends StoredObject>(name: ObjectKind, objects: readonly T[], tenant?: string) {
  const kind = KINDS[name];
  return objects.map((object) => {
    const { namespace } = object.metadata;
    return { kind, place: placeOf({ tenant, ...(kind.namespaced && { namespace }) }), object };
  });
}

function untouchedBy(
  { untouched }: DesiredState,
  { createRoles }: DesiredObjectRules,
): (binding: StoredBinding) => boolean {
  const projects = new Set([...untouched.projectIDs].map(labelValue));
  const domains = new Set([...untouched.domainIDs].map(labelValue));
  return ({ metadata, roleRef }) => {
    const { projectID, domainID } = ownerLabels(metadata);
    const ignored =
      (projectID !== undefined && projects.has(projectID)) ||
      (domainID !== undefined && domains.has(domainID));
    return ignored || (!createRoles && roleRef.name === BASIC_USER_ROLE);
  };
}
