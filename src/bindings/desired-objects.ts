/**
 * Which namespace each project gets, and which tenants may be used, beside what is there already. Pure. A namespace
 * belongs to a project only by the marks that Stonegate gave it; one without them, or with another project's, is
 * refused, and so is one that two projects want. A project keeps its namespace over a change of its name, and a
 * newcomer who takes on an older project's name takes nothing away from it.
 */

import { BASIC_USER_ROLE, CLUSTER_ROLES, TENANT_CLUSTER_ROLES } from '../api/cluster-roles.ts';
import type { ClusterRole, KubernetesObject, Namespace, Tenant } from '../api/kubernetes-object.ts';
import type { DesiredProject, DesiredState, DesiredTenant } from './desired-state.ts';
import { basicUserBinding, titleOf } from './grants.ts';
import { isManaged, isManagedFor, managedLabels } from './managed-object.ts';
import type { ProvisioningRefusal } from './plan.ts';
import type { Place } from './ports.ts';
import type { ClusterState } from './read-state.ts';

export interface ResolvedProject {
  readonly wish: DesiredProject;
  readonly namespace: string;
}

export interface ResolvedTenant {
  readonly wish: DesiredTenant;
  /** Whether Stonegate made it for that very domain, or is about to: only then is anybody bound in all of it. */
  readonly owned: boolean;
}

export interface ResolvedState {
  readonly tenants: readonly ResolvedTenant[];
  readonly projects: readonly ResolvedProject[];
  readonly refusals: readonly ProvisioningRefusal[];
}

type Refused = { readonly refused: string };

export function resolveNamespaces(desired: DesiredState, cluster: ClusterState): ResolvedState {
  const refusals: ProvisioningRefusal[] = [];
  const tenants = settleTenants(desired.tenants, cluster.tenants, refusals);
  const usable = new Set(tenants.map(({ wish }) => wish.tenant));
  const namespaces = new Map(cluster.places.map(({ tenant, namespaces }) => [tenant, namespaces]));
  const found: ResolvedProject[] = [];
  for (const wish of desired.projects) {
    if (wish.tenant !== undefined && !usable.has(wish.tenant)) continue;
    const chosen = chooseNamespace(wish, namespaces.get(wish.tenant) ?? []);
    if ('namespace' in chosen) found.push({ wish, namespace: chosen.namespace });
    else refusals.push({ subject: titleOf('project', wish.project), reason: chosen.refused });
  }
  return { tenants, projects: withoutCollisions(found, refusals), refusals };
}

function settleTenants(
  wishes: readonly DesiredTenant[],
  existing: readonly Tenant[],
  refusals: ProvisioningRefusal[],
): ResolvedTenant[] {
  const byName = new Map(existing.map((tenant) => [tenant.metadata.name, tenant]));
  const claims = Map.groupBy(wishes, ({ tenant }) => tenant);
  return wishes.flatMap((wish): ResolvedTenant[] => {
    const { domain, tenant: name } = wish;
    const subject = titleOf('domain', domain);
    const tenant = byName.get(name);
    const owned = tenant === undefined || isManagedFor(tenant, { domainID: domain.id });
    const problem = tenantProblem(tenant, owned, claims.get(name)?.length ?? 0);
    if (problem !== undefined) {
      refusals.push({ subject, reason: `its tenant ${name} ${problem}` });
      return [];
    }
    if (!owned && wish.bindings.length > 0)
      refusals.push({
        subject,
        reason: `its tenant ${name} was not made by Stonegate for it: its roles on the domain are not bound there`,
      });
    return [{ wish, owned }];
  });
}

function tenantProblem(tenant: Tenant | undefined, owned: boolean, claims: number): string | undefined {
  if (claims > 1) return 'is wanted by another domain too';
  if (tenant === undefined) return undefined;
  if (tenant.metadata.deletionTimestamp !== undefined) return 'is being deleted';
  return isManaged(tenant) && !owned ? 'was made for another domain' : undefined;
}

function chooseNamespace(
  { project, wanted }: DesiredProject,
  namespaces: readonly Namespace[],
): { namespace: string } | Refused {
  const own = namespaces.filter((namespace) => isManagedFor(namespace, { projectID: project.id }));
  const kept = 'namespace' in wanted && wanted.configured ? undefined : keptOf(own, wanted);
  if (kept !== undefined) return kept;
  if ('refused' in wanted) return wanted;
  const { namespace: name } = wanted;
  const existing = namespaces.find(({ metadata }) => metadata.name === name);
  if (existing === undefined) return { namespace: name };
  if (!own.includes(existing))
    return { refused: `its namespace ${name} is there, but Stonegate did not make it for this project` };
  return usableNamespace(existing);
}

/** What the project has already, unless an operator has written down another. */
function keptOf(
  own: readonly Namespace[],
  wanted: DesiredProject['wanted'],
): { namespace: string } | Refused | undefined {
  const [first, ...others] = own;
  if (first === undefined) return undefined;
  const named = own.find(({ metadata }) => 'namespace' in wanted && metadata.name === wanted.namespace);
  if (named !== undefined) return usableNamespace(named);
  if (others.length > 0) return { refused: 'several namespaces say that they are its own' };
  return usableNamespace(first);
}

function usableNamespace({ metadata }: Namespace): { namespace: string } | Refused {
  return metadata.deletionTimestamp === undefined
    ? { namespace: metadata.name }
    : { refused: `its namespace ${metadata.name} is being deleted` };
}

function withoutCollisions(
  found: readonly ResolvedProject[],
  refusals: ProvisioningRefusal[],
): ResolvedProject[] {
  const keyOf = ({ wish, namespace }: ResolvedProject) => `${wish.tenant ?? ''}/${namespace}`;
  const claims = Map.groupBy(found, keyOf);
  return found.filter((resolved) => {
    if ((claims.get(keyOf(resolved))?.length ?? 0) === 1) return true;
    refusals.push({
      subject: titleOf('project', resolved.wish.project),
      reason: `its namespace would be ${resolved.namespace}, which another project wants too`,
    });
    return false;
  });
}

/*
 * The objects that what has been resolved comes to, each with its place and its reason, in the order in which they can
 * be made: tenants, namespaces, roles, bindings.
 
 */

export interface DesiredObject {
  readonly object: KubernetesObject;
  readonly place: Place;
  readonly reason: string;
}

export interface DesiredObjectRules {
  readonly createRoles: boolean;
  readonly storageClusterID: string;
  /** Whether the API server knows tenants. */
  readonly tenants: boolean;
}

export function desiredObjects(
  { tenants, projects }: ResolvedState,
  rules: DesiredObjectRules,
): DesiredObject[] {
  const places: Place[] = rules.tenants ? tenants.map(({ wish }) => ({ tenant: wish.tenant })) : [{}];
  return [
    ...tenants.filter(({ owned }) => owned).map((tenant) => tenantWish(tenant, rules)),
    ...projects.map(namespaceWish),
    ...(rules.createRoles ? places.flatMap((place) => roleWishes(place, rules)) : []),
    ...tenants.flatMap((tenant) => tenantBindings(tenant, rules)),
    ...projects.flatMap(projectBindings),
  ];
}

function tenantWish(
  { wish: { tenant, domain } }: ResolvedTenant,
  { storageClusterID }: DesiredObjectRules,
): DesiredObject {
  const marks = managedLabels({ domainID: domain.id }, { 'domain-name': domain.name });
  return {
    object: {
      apiVersion: 'v1',
      kind: 'Tenant',
      metadata: { name: tenant, ...marks },
      spec: { storageClusterId: storageClusterID },
    },
    place: {},
    reason: titleOf('domain', domain),
  };
}

function namespaceWish({ wish: { project, tenant }, namespace }: ResolvedProject): DesiredObject {
  const owner = { projectID: project.id, domainID: project.domainID };
  const marks = managedLabels(owner, { 'project-name': project.name });
  return {
    object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, ...marks } },
    place: placeOf(tenant),
    reason: titleOf('project', project),
  };
}

/** An ordinary cluster lets people ask what they may do already. */
function roleWishes(place: Place, { tenants }: DesiredObjectRules): DesiredObject[] {
  return [...(tenants ? TENANT_CLUSTER_ROLES : CLUSTER_ROLES)]
    .filter(([name]) => tenants || name !== BASIC_USER_ROLE)
    .map(([name, rules]) => {
      const object: ClusterRole = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name, ...managedLabels({}) },
        rules,
      };
      return { object, place, reason: "one of Stonegate's roles" };
    });
}

function tenantBindings(
  { wish: { tenant, domain, bindings }, owned }: ResolvedTenant,
  rules: DesiredObjectRules,
): DesiredObject[] {
  const place = { tenant };
  return [
    ...(rules.createRoles ? [{ ...basicUserBinding(domain.id), place }] : []),
    ...(owned ? bindings.map((binding) => ({ ...binding, place })) : []),
  ];
}

function projectBindings({ wish: { tenant, bindings }, namespace }: ResolvedProject): DesiredObject[] {
  return bindings.map(({ object, reason }) => ({
    object: { ...object, metadata: { ...object.metadata, namespace } },
    place: { ...placeOf(tenant), namespace },
    reason,
  }));
}

function placeOf(tenant: string | undefined): Place {
  return tenant === undefined ? {} : { tenant };
}
