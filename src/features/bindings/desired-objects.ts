/**
 * Lists the objects to provision, and says what becomes of existing ones: namespaces and tenants are not
 * changed, all others are made as desired if Stonegate created them.
 */

import {
  type Binding,
  KINDS,
  type KubernetesObject,
  type Place,
  placeOf,
  type ResourceQuota,
  type StoredObject,
} from '../../kubernetes/kubernetes-object.ts';
import { compareOwned } from '../../kubernetes/reconcile/drift.ts';
import type { Comparison, Desired, Target } from '../../kubernetes/reconcile/plan.ts';
import { TENANT_KEY } from '../../kubernetes/reserved-names.ts';
import { BASIC_USER_ROLE } from '../../rbac/cluster-roles.ts';
import { basicUserBinding, titleOf } from './grants.ts';
import { isManaged, managedLabels, ownerLabels } from './managed-object.ts';
import { type ProjectLimits, projectQuota } from './project-quota.ts';
import type { ResolvedProject, ResolvedState, ResolvedTenant } from './resolved-state.ts';
import { ownClusterRoles } from './rights.ts';

export interface DesiredObjectRules {
  readonly createRoles: boolean;
  readonly storageClusterID: string;
  readonly hasTenantsInPaths: boolean;
}

/** @param limits undefined if no quotas are provisioned, or the limits are not known */
export function desiredObjects(
  { tenants, projects }: ResolvedState,
  rules: DesiredObjectRules,
  limits: ProjectLimits | undefined,
): Desired[] {
  const places: Place[] = rules.hasTenantsInPaths
    ? tenants.map(({ desired }) => ({ tenant: desired.tenant }))
    : [{}];
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

function namespaceObject({ desired, namespace }: ResolvedProject): Desired {
  const { project, tenant, tenantLabel } = desired;
  const owner = { projectID: project.id, domainID: project.domainID };
  const { labels, annotations } = managedLabels(owner, { 'project-name': project.name });
  const ofTenant = tenantLabel === undefined ? {} : { [TENANT_KEY]: tenantLabel };
  const metadata = { name: namespace, labels: { ...labels, ...ofTenant }, annotations };
  return desiredObject(
    { apiVersion: 'v1', kind: 'Namespace', metadata },
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

function clusterRoles(place: Place, rules: DesiredObjectRules): Desired[] {
  return ownClusterRoles(rules).map((role) => desiredObject(role, place, "one of Stonegate's roles"));
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
      // Who took the name of a quota before Stonegate, or its labels, would be bounded by nothing.
      const isOwned = object.kind === 'ResourceQuota' ? () => true : isManaged;
      return {
        ...fields,
        compare: (existing) => compareOwned(object, existing, isOwned),
        ...(target && { target }),
      };
    }
  }
}

/** Nothing of a namespace or a tenant is changed but the label that says whose a namespace is. */
function compareContainer(
  object: Extract<KubernetesObject, { kind: 'Tenant' | 'Namespace' }>,
  existing: StoredObject | undefined,
): Comparison {
  if (existing === undefined) return { action: 'create', object };
  const owner = object.kind === 'Namespace' ? 'projectID' : 'domainID';
  const isOwn =
    isManaged(existing) && ownerLabels(existing.metadata)[owner] === ownerLabels(object.metadata)[owner];
  if (!isOwn) return { refused: 'it is there, but Stonegate did not create it for this' };
  const tenant = object.metadata.labels?.[TENANT_KEY];
  const { metadata } = existing;
  if (tenant === undefined || metadata.labels?.[TENANT_KEY] === tenant) return { action: 'none' };
  const labels = { ...metadata.labels, [TENANT_KEY]: tenant };
  return { action: 'update', object: { ...existing, metadata: { ...metadata, labels } } };
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
  if (target === undefined) return 'there is nothing that Stonegate created to bind it in';
  const { metadata, kind } = target;
  const name = `the ${kind.toLowerCase()} ${metadata.name}`;
  if (metadata.deletionTimestamp !== undefined) return `${name} is being deleted`;
  // All users of every tenant may create self access reviews.
  if (kind === 'Tenant' && 'roleRef' in object && object.roleRef.name === BASIC_USER_ROLE) return undefined;
  const owner = kind === 'Namespace' ? 'projectID' : 'domainID';
  const [its, wanted] = [ownerLabels(metadata)[owner], ownerLabels(object.metadata)[owner]];
  return isManaged(target) && its !== undefined && its === wanted
    ? undefined
    : `${name} was not created by Stonegate for it`;
}
