/**
 * Resolves namespaces and tenants against existing objects, and lists the objects to provision. A
 * namespace belongs to a project only by Stonegate's labels: one without them, with another project's, or
 * claimed by two projects is refused. A renamed project keeps its namespace.
 */

import {
  type Binding,
  type ClusterRole,
  KINDS,
  type KubernetesObject,
  type Place,
  placeOf,
  type ResourceQuota,
  type StoredObject,
} from '../../kubernetes/kubernetes-object.ts';
import { compareOwned } from '../../kubernetes/reconcile/drift.ts';
import type { Comparison, Desired, Refusal, Target } from '../../kubernetes/reconcile/plan.ts';
import { BASIC_USER_ROLE, CLUSTER_ROLES, TENANT_CLUSTER_ROLES } from '../../rbac/cluster-roles.ts';
import type { DesiredProject, DesiredState, DesiredTenant } from './desired-state.ts';
import { basicUserBinding, titleOf } from './grants.ts';
import { isManaged, isManagedFor, managedLabels, ownerLabels } from './managed-object.ts';
import { type ProjectLimits, projectQuota } from './project-quota.ts';
import type { ClusterState } from './read-state.ts';

export interface ResolvedProject {
  readonly desired: DesiredProject;
  readonly namespace: string;
}

export interface ResolvedTenant {
  readonly desired: DesiredTenant;
  /**
   * Whether Stonegate created the tenant for this domain, or will: only then are roles bound in the whole
   * tenant.
   */
  readonly owned: boolean;
}

export interface ResolvedState {
  readonly tenants: readonly ResolvedTenant[];
  readonly projects: readonly ResolvedProject[];
  readonly refusals: readonly Refusal[];
}

type Refused = { readonly refused: string };

export function resolveNamespaces(state: DesiredState, cluster: ClusterState): ResolvedState {
  const refusals: Refusal[] = [];
  const tenants = resolveTenants(state.tenants, cluster.tenants, refusals);
  const usable = new Set(tenants.map(({ desired }) => desired.tenant));
  const namespaces = new Map(cluster.places.map(({ tenant, namespaces }) => [tenant, namespaces]));
  const found: ResolvedProject[] = [];
  for (const desired of state.projects) {
    if (desired.tenant !== undefined && !usable.has(desired.tenant)) continue;
    const result = resolveNamespace(desired, namespaces.get(desired.tenant) ?? []);
    if ('namespace' in result) found.push({ desired, namespace: result.namespace });
    else refusals.push({ subject: titleOf('project', desired.project), reason: result.refused });
  }
  return { tenants, projects: withoutCollisions(found, refusals), refusals };
}

function resolveTenants(
  desiredTenants: readonly DesiredTenant[],
  existing: readonly StoredObject[],
  refusals: Refusal[],
): ResolvedTenant[] {
  const byName = new Map(existing.map((tenant) => [tenant.metadata.name, tenant]));
  const claims = Map.groupBy(desiredTenants, ({ tenant }) => tenant);
  return desiredTenants.flatMap((desired): ResolvedTenant[] => {
    const { domain, tenant: name } = desired;
    const subject = titleOf('domain', domain);
    const tenant = byName.get(name);
    const owned = tenant === undefined || isManagedFor(tenant, { domainID: domain.id });
    const problem = tenantProblem(tenant, owned, claims.get(name)?.length ?? 0);
    if (problem !== undefined) {
      refusals.push({ subject, reason: `its tenant ${name} ${problem}` });
      return [];
    }
    if (!owned && desired.bindings.length > 0)
      refusals.push({
        subject,
        reason: `its tenant ${name} was not made by Stonegate for it, so its roles on the domain are not bound there: label it stonegate.dev/managed-by=stonegate and stonegate.dev/domain-id=${domain.id}`,
      });
    return [{ desired, owned }];
  });
}

function tenantProblem(tenant: StoredObject | undefined, owned: boolean, claims: number): string | undefined {
  if (claims > 1) return 'is wanted by another domain too';
  if (tenant === undefined) return undefined;
  if (tenant.metadata.deletionTimestamp !== undefined) return 'is being deleted';
  return isManaged(tenant) && !owned ? 'was made for another domain' : undefined;
}

function resolveNamespace(
  { project, wanted }: DesiredProject,
  namespaces: readonly StoredObject[],
): { namespace: string } | Refused {
  const own = namespaces.filter((namespace) => isManagedFor(namespace, { projectID: project.id }));
  const current = 'namespace' in wanted && wanted.configured ? undefined : currentNamespace(own, wanted);
  if (current !== undefined) return current;
  if ('refused' in wanted) return wanted;
  const { namespace: name } = wanted;
  const existing = namespaces.find(({ metadata }) => metadata.name === name);
  if (existing === undefined) return { namespace: name };
  if (!own.includes(existing))
    return {
      refused: `its namespace ${name} is there, but Stonegate did not make it for this project: give it another one in bindings.projects, or hand this one over as docs/bindings.md says`,
    };
  return usableNamespace(existing);
}

/** The namespace that the project already has, unless the operator has configured one. */
function currentNamespace(
  own: readonly StoredObject[],
  wanted: DesiredProject['wanted'],
): { namespace: string } | Refused | undefined {
  const [first, ...others] = own;
  if (first === undefined) return undefined;
  const named = own.find(({ metadata }) => 'namespace' in wanted && metadata.name === wanted.namespace);
  if (named !== undefined) return usableNamespace(named);
  if (others.length > 0) return { refused: 'several namespaces say that they are its own' };
  return usableNamespace(first);
}

function usableNamespace({ metadata }: StoredObject): { namespace: string } | Refused {
  return metadata.deletionTimestamp === undefined
    ? { namespace: metadata.name }
    : { refused: `its namespace ${metadata.name} is being deleted` };
}

function withoutCollisions(found: readonly ResolvedProject[], refusals: Refusal[]): ResolvedProject[] {
  const keyOf = ({ desired, namespace }: ResolvedProject) => `${desired.tenant ?? ''}/${namespace}`;
  const claims = Map.groupBy(found, keyOf);
  return found.filter((resolved) => {
    if ((claims.get(keyOf(resolved))?.length ?? 0) === 1) return true;
    refusals.push({
      subject: titleOf('project', resolved.desired.project),
      reason: `its namespace would be ${resolved.namespace}, which another project wants too: give it another one in bindings.projects`,
    });
    return false;
  });
}

export interface DesiredObjectRules {
  readonly createRoles: boolean;
  readonly storageClusterID: string;
  /** Whether the API server has tenants. */
  readonly tenants: boolean;
}

/** @param limits undefined if no quotas are provisioned, or the limits are not known */
export function desiredObjects(
  { tenants, projects }: ResolvedState,
  rules: DesiredObjectRules,
  limits: ProjectLimits | undefined,
): Desired[] {
  const places: Place[] = rules.tenants ? tenants.map(({ desired }) => ({ tenant: desired.tenant })) : [{}];
  return [
    ...tenants.filter(({ owned }) => owned).map((tenant) => tenantObject(tenant, rules)),
    ...projects.map(namespaceObject),
    ...(limits === undefined ? [] : projects.map((project) => quotaObject(project, limits))),
    ...(rules.createRoles ? places.flatMap((place) => clusterRoles(place, rules)) : []),
    ...tenants.flatMap((tenant) => tenantBindings(tenant, rules)),
    ...projects.flatMap(projectBindings),
  ];
}

function tenantObject(
  { desired: { tenant, domain } }: ResolvedTenant,
  { storageClusterID }: DesiredObjectRules,
): Desired {
  const labels = managedLabels({ domainID: domain.id }, { 'domain-name': domain.name });
  return desiredObject(
    {
      apiVersion: 'v1',
      kind: 'Tenant',
      metadata: { name: tenant, ...labels },
      spec: { storageClusterId: storageClusterID },
    },
    {},
    titleOf('domain', domain),
  );
}

function namespaceObject({ desired: { project, tenant }, namespace }: ResolvedProject): Desired {
  const owner = { projectID: project.id, domainID: project.domainID };
  const labels = managedLabels(owner, { 'project-name': project.name });
  return desiredObject(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, ...labels } },
    placeOf({ tenant }),
    titleOf('project', project),
  );
}

function quotaObject(
  { desired: { project, tenant }, namespace }: ResolvedProject,
  limits: ProjectLimits,
): Desired {
  const object = projectQuota(project, namespace, limits);
  return desiredObject(object, placeOf({ tenant, namespace }), titleOf('project', project));
}

/** Without tenants, the cluster's own `system:basic-user` already allows self access reviews. */
function clusterRoles(place: Place, { tenants }: DesiredObjectRules): Desired[] {
  return [...(tenants ? TENANT_CLUSTER_ROLES : CLUSTER_ROLES)]
    .filter(([name]) => tenants || name !== BASIC_USER_ROLE)
    .map(([name, rules]) => {
      const object: ClusterRole = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name, ...managedLabels({}) },
        rules,
      };
      return desiredObject(object, place, "one of Stonegate's roles");
    });
}

function tenantBindings(
  { desired: { tenant, domain, bindings }, owned }: ResolvedTenant,
  rules: DesiredObjectRules,
): Desired[] {
  const place = { tenant };
  return [...(rules.createRoles ? [basicUserBinding(domain.id)] : []), ...(owned ? bindings : [])].map(
    ({ object, reason }) => desiredObject(object, place, reason),
  );
}

function projectBindings({ desired: { tenant, bindings }, namespace }: ResolvedProject): Desired[] {
  return bindings.map(({ object, reason }) =>
    desiredObject(
      { ...object, metadata: { ...object.metadata, namespace } },
      { ...placeOf({ tenant }), namespace },
      reason,
    ),
  );
}

function desiredObject(object: KubernetesObject, place: Place, reason: string): Desired {
  const fields = { kind: KINDS[object.kind], place, object, reason };
  switch (object.kind) {
    case 'Tenant':
    case 'Namespace':
      return { ...fields, compare: (existing) => compareContainer(object, existing) };
    case 'ClusterRole':
      return { ...fields, compare: (existing) => compareOwned(object, existing, isManaged) };
    case 'ResourceQuota':
    case 'RoleBinding':
    case 'ClusterRoleBinding': {
      const target = targetOf(object, place);
      return {
        ...fields,
        compare: (existing) => compareOwned(object, existing, isManaged),
        ...(target && { target }),
      };
    }
  }
}

/** Namespaces and tenants are not changed. */
function compareContainer(
  object: Extract<KubernetesObject, { kind: 'Tenant' | 'Namespace' }>,
  existing: StoredObject | undefined,
): Comparison {
  if (existing === undefined) return { action: 'create', object };
  const owner = object.kind === 'Namespace' ? 'projectID' : 'domainID';
  const isOwn =
    isManaged(existing) && ownerLabels(existing.metadata)[owner] === ownerLabels(object.metadata)[owner];
  return isOwn ? { action: 'none' } : { refused: 'it is there, but Stonegate did not make it for this' };
}

/**
 * The namespace or tenant that a binding or quota applies to: it must still be the one that Stonegate made
 * for this project or domain when the object is written into it.
 *
 * @returns undefined for a place that is neither a namespace nor a tenant
 */
function targetOf(object: Binding | ResourceQuota, { tenant, namespace }: Place): Target | undefined {
  const problem = (found: StoredObject | undefined) => targetProblem(found, object);
  if (namespace !== undefined)
    return { kind: KINDS.Namespace, place: placeOf({ tenant }), name: namespace, problem };
  return tenant === undefined ? undefined : { kind: KINDS.Tenant, place: {}, name: tenant, problem };
}

/** @returns why the object must not be written; undefined if it may be */
function targetProblem(
  target: StoredObject | undefined,
  object: Binding | ResourceQuota,
): string | undefined {
  if (target === undefined) return 'there is nothing that Stonegate made to bind it in';
  const { metadata, kind } = target;
  const name = `the ${kind.toLowerCase()} ${metadata.name}`;
  if (metadata.deletionTimestamp !== undefined) return `${name} is being deleted`;
  // All users of every tenant may create self access reviews.
  if (kind === 'Tenant' && 'roleRef' in object && object.roleRef.name === BASIC_USER_ROLE) return undefined;
  const owner = kind === 'Namespace' ? 'projectID' : 'domainID';
  const [its, wanted] = [ownerLabels(metadata)[owner], ownerLabels(object.metadata)[owner]];
  return isManaged(target) && its !== undefined && its === wanted
    ? undefined
    : `${name} was not made by Stonegate for it`;
}
