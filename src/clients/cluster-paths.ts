/**
 * Where the objects that Stonegate makes are found: in Arktos behind their tenant, elsewhere without one.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris
 */
import type { ObjectKind } from '../api/kubernetes-object.ts';
import type { Place } from '../bindings/cluster-objects.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

interface Resource {
  readonly root: string;
  readonly plural: string;
  readonly apiVersion: string;
}

export const RESOURCES: Readonly<Record<ObjectKind, Resource>> = {
  Tenant: { root: '/api/v1', plural: 'tenants', apiVersion: 'v1' },
  Namespace: { root: '/api/v1', plural: 'namespaces', apiVersion: 'v1' },
  ClusterRole: { root: RBAC, plural: 'clusterroles', apiVersion: 'rbac.authorization.k8s.io/v1' },
  RoleBinding: { root: RBAC, plural: 'rolebindings', apiVersion: 'rbac.authorization.k8s.io/v1' },
  ClusterRoleBinding: {
    root: RBAC,
    plural: 'clusterrolebindings',
    apiVersion: 'rbac.authorization.k8s.io/v1',
  },
};

/** @returns with every part escaped, so that no name leads elsewhere */
export function collectionPath(kind: ObjectKind, { tenant, namespace }: Place): string {
  const { root, plural } = RESOURCES[kind];
  const ofTenant = tenant === undefined ? [] : ['tenants', tenant];
  const ofNamespace = namespace === undefined ? [] : ['namespaces', namespace];
  return [root, ...[...ofTenant, ...ofNamespace, plural].map(segment)].join('/');
}

export function objectPath(kind: ObjectKind, place: Place, name: string): string {
  return `${collectionPath(kind, place)}/${segment(name)}`;
}

/** A dot segment has no escape: a server may resolve it whatever is written. */
function segment(text: string): string {
  if (text === '' || text === '.' || text === '..') throw new RangeError('this can be no part of a path');
  // A colon may stand in a segment as it is (RFC 3986 §3.3), and does in the names of roles.
  return encodeURIComponent(text).replaceAll('%3A', ':');
}
