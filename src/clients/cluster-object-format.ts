/**
 * Paths of the objects that Stonegate provisions, and validation of objects that the API server returns.
 * Unknown fields are preserved, so that an update removes nothing. Arktos has a tenant in each path.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris
 */
import type {
  KubernetesObject,
  NamedObjectMeta,
  ObjectKind,
  PolicyRule,
  RBACSubject,
  RoleRef,
} from '../api/kubernetes-object.ts';
import type { Place } from '../bindings/ports.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';

const RBAC_PATH = '/apis/rbac.authorization.k8s.io/v1';

interface Resource {
  readonly root: string;
  readonly plural: string;
  readonly apiVersion: string;
}

const RESOURCES: Readonly<Record<ObjectKind, Resource>> = {
  Tenant: { root: '/api/v1', plural: 'tenants', apiVersion: 'v1' },
  Namespace: { root: '/api/v1', plural: 'namespaces', apiVersion: 'v1' },
  ClusterRole: { root: RBAC_PATH, plural: 'clusterroles', apiVersion: 'rbac.authorization.k8s.io/v1' },
  RoleBinding: { root: RBAC_PATH, plural: 'rolebindings', apiVersion: 'rbac.authorization.k8s.io/v1' },
  ClusterRoleBinding: {
    root: RBAC_PATH,
    plural: 'clusterrolebindings',
    apiVersion: 'rbac.authorization.k8s.io/v1',
  },
};

/** @returns with every part escaped, so that no name changes the path */
export function collectionPath(kind: ObjectKind, { tenant, namespace }: Place): string {
  const { root, plural } = RESOURCES[kind];
  const ofTenant = tenant === undefined ? [] : ['tenants', tenant];
  const ofNamespace = namespace === undefined ? [] : ['namespaces', namespace];
  return [root, ...[...ofTenant, ...ofNamespace, plural].map(segment)].join('/');
}

export function objectPath(kind: ObjectKind, place: Place, name: string): string {
  return `${collectionPath(kind, place)}/${segment(name)}`;
}

/** A dot segment cannot be escaped: a server may resolve it in any spelling. */
export function segment(text: string): string {
  if (text === '' || text === '.' || text === '..') throw new RangeError('this can be no part of a path');
  // A colon is valid in a segment (RFC 3986 §3.3) and occurs in role names.
  return encodeURIComponent(text).replaceAll('%3A', ':');
}

/**
 * @param kind the requested one; list members do not contain it
 * @throws Error if the value is not such an object
 */
export function readObject(value: unknown, kind: ObjectKind): KubernetesObject {
  if (!isJSONObject(value)) throw new Error(`the ${kind} is no object`);
  if (value.kind !== undefined && value.kind !== kind) throw new Error(`it is no ${kind}`);
  const metadata = metaOf(value.metadata);
  switch (kind) {
    case 'Tenant': {
      const spec = isJSONObject(value.spec) ? value.spec : {};
      const { storageClusterId = '' } = spec;
      if (typeof storageClusterId !== 'string') throw new Error('spec.storageClusterId is no text');
      return { ...value, kind, apiVersion: 'v1', metadata, spec: { ...spec, storageClusterId } };
    }
    case 'Namespace':
      return { ...value, kind, apiVersion: 'v1', metadata };
    case 'ClusterRole':
      return { ...value, kind, apiVersion: RBAC, metadata, rules: listOf(value.rules, isRule, 'rules') };
    case 'RoleBinding':
    case 'ClusterRoleBinding': {
      const { roleRef } = value;
      if (!isRoleRef(roleRef)) throw new Error('roleRef names no role');
      const subjects = listOf(value.subjects, isSubject, 'subjects');
      return { ...value, kind, apiVersion: RBAC, metadata, roleRef, subjects };
    }
  }
}

const RBAC = 'rbac.authorization.k8s.io/v1';

/** Narrows the type to the requested kind. */
export function isOfKind<K extends ObjectKind>(
  object: KubernetesObject,
  kind: K,
): object is Extract<KubernetesObject, { kind: K }> {
  return object.kind === kind && object.apiVersion === RESOURCES[kind].apiVersion;
}

export function metaOf(value: unknown): NamedObjectMeta {
  if (!isMeta(value)) throw new Error('metadata is none');
  return value;
}

export function isMeta(value: unknown): value is NamedObjectMeta & JSONObject {
  if (!isJSONObject(value) || typeof value.name !== 'string' || value.name === '') return false;
  const { tenant, namespace, uid, resourceVersion, deletionTimestamp, creationTimestamp } = value;
  const texts = [tenant, namespace, uid, resourceVersion, deletionTimestamp, creationTimestamp ?? undefined];
  return (
    texts.every((text) => text === undefined || typeof text === 'string') &&
    [value.labels, value.annotations].every((map) => map === undefined || isTextMap(map))
  );
}

function isTextMap(value: unknown): boolean {
  return isJSONObject(value) && Object.values(value).every((text) => typeof text === 'string');
}

/** Go omits an empty list, or writes null. */
function listOf<T>(value: unknown, isMember: (member: unknown) => member is T, what: string): readonly T[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every(isMember)) throw new Error(`${what} is none`);
  return value;
}

function isRule(value: unknown): value is PolicyRule {
  if (!isJSONObject(value) || !isTexts(value.verbs)) return false;
  return [value.apiGroups, value.resources, value.resourceNames, value.nonResourceURLs].every(
    (list) => list === undefined || isTexts(list),
  );
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

function isRoleRef(value: unknown): value is RoleRef {
  return (
    isJSONObject(value) &&
    value.apiGroup === 'rbac.authorization.k8s.io' &&
    (value.kind === 'ClusterRole' || value.kind === 'Role') &&
    typeof value.name === 'string'
  );
}

function isSubject(value: unknown): value is RBACSubject {
  if (!isJSONObject(value)) return false;
  const { kind, name, apiGroup = '', namespace = '' } = value;
  const known = kind === 'User' || kind === 'Group' || kind === 'ServiceAccount';
  return known && [name, apiGroup, namespace].every((text) => typeof text === 'string');
}
