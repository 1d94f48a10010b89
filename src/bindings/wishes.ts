/**
 * The objects that what has been settled comes to, each with its place and its reason, in the order in which they can
 * be made: tenants, namespaces, roles, bindings.
 */

import { BASIC_USER_ROLE, CLUSTER_ROLES, TENANT_CLUSTER_ROLES } from '../api/cluster-roles.ts';
import type { ClusterRole, KubernetesObject } from '../api/kubernetes-object.ts';
import { basicUserBinding, titleOf } from './binding.ts';
import type { Place } from './cluster-objects.ts';
import { marksOf } from './managed-object.ts';
import type { Settled, SettledProject, SettledTenant } from './settle.ts';

export interface Wish {
  readonly object: KubernetesObject;
  readonly place: Place;
  readonly reason: string;
}

export interface WishRules {
  readonly createRoles: boolean;
  readonly storageClusterID: string;
  /** Whether the API server knows tenants. */
  readonly tenants: boolean;
}

export function wishesOf({ tenants, projects }: Settled, rules: WishRules): Wish[] {
  const places: Place[] = rules.tenants ? tenants.map(({ wish }) => ({ tenant: wish.tenant })) : [{}];
  return [
    ...tenants.filter(({ owned }) => owned).map((tenant) => tenantWish(tenant, rules)),
    ...projects.map(namespaceWish),
    ...(rules.createRoles ? places.flatMap((place) => roleWishes(place, rules)) : []),
    ...tenants.flatMap((tenant) => tenantBindings(tenant, rules)),
    ...projects.flatMap(projectBindings),
  ];
}

function tenantWish({ wish: { tenant, domain } }: SettledTenant, { storageClusterID }: WishRules): Wish {
  const marks = marksOf({ domainID: domain.id }, { 'domain-name': domain.name });
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

function namespaceWish({ wish: { project, tenant }, namespace }: SettledProject): Wish {
  const owner = { projectID: project.id, domainID: project.domainID };
  const marks = marksOf(owner, { 'project-name': project.name });
  return {
    object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, ...marks } },
    place: placeOf(tenant),
    reason: titleOf('project', project),
  };
}

/** An ordinary cluster lets people ask what they may do already. */
function roleWishes(place: Place, { tenants }: WishRules): Wish[] {
  return [...(tenants ? TENANT_CLUSTER_ROLES : CLUSTER_ROLES)]
    .filter(([name]) => tenants || name !== BASIC_USER_ROLE)
    .map(([name, rules]) => {
      const object: ClusterRole = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name, ...marksOf({}) },
        rules,
      };
      return { object, place, reason: "one of Stonegate's roles" };
    });
}

function tenantBindings(
  { wish: { tenant, domain, bindings }, owned }: SettledTenant,
  rules: WishRules,
): Wish[] {
  const place = { tenant };
  return [
    ...(rules.createRoles ? [{ ...basicUserBinding(domain.id), place }] : []),
    ...(owned ? bindings.map((binding) => ({ ...binding, place })) : []),
  ];
}

function projectBindings({ wish: { tenant, bindings }, namespace }: SettledProject): Wish[] {
  return bindings.map(({ object, reason }) => ({
    object: { ...object, metadata: { ...object.metadata, namespace } },
    place: { ...placeOf(tenant), namespace },
    reason,
  }));
}

function placeOf(tenant: string | undefined): Place {
  return tenant === undefined ? {} : { tenant };
}
