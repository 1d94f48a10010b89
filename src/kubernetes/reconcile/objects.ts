/**
 * The objects that controllers read and write, and the port to the API server that stores them.
 * `kubernetes/objects.ts` implements the port with the provisioning credential.
 */
import type { NamedObjectMeta, ObjectKind, ResourceKind } from '../kubernetes-object.ts';

/**
 * Where an object is. In Arktos every object but a Tenant has a tenant (`all`, for lists, is every tenant);
 * in Kubernetes none has one.
 */
export interface Place {
  readonly tenant?: string;
  readonly namespace?: string;
}

/** An object that can be written. */
export interface WrittenObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: StoredMeta;
}

export interface StoredMeta extends NamedObjectMeta {
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly unknown[];
}

/** An object of any kind with all its fields, as the API server returns it. */
export interface StoredObject extends WrittenObject {
  readonly [field: string]: unknown;
}

export interface Objects {
  /**
   * All objects of a kind, of all namespaces if `place` has none. A refusal or an incomplete response is
   * thrown, so that it never looks like an empty list.
   *
   * @param labelSelector as in the API; empty for all
   * @param read what is needed of an object: whole objects of all tenants may take much memory. It may be
   *   called again for the same object.
   * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential,
   *   ProvisioningForbidden, ProvisioningRefused, as every function here
   */
  list<T>(
    kind: ResourceKind,
    place: Place,
    labelSelector: string,
    signal: AbortSignal,
    read: (object: StoredObject) => T,
  ): Promise<readonly T[]>;
  /** @returns undefined if there is none */
  get(kind: ResourceKind, place: Place, name: string, signal: AbortSignal): Promise<StoredObject | undefined>;
  /** @returns `exists` if the name is taken */
  create(
    kind: ResourceKind,
    place: Place,
    object: WrittenObject,
    signal: AbortSignal,
  ): Promise<'created' | 'exists'>;
  /** @param object with the `resourceVersion` it was read with, so that a concurrent change wins */
  update(
    kind: ResourceKind,
    place: Place,
    object: WrittenObject,
    signal: AbortSignal,
  ): Promise<'updated' | 'conflict' | 'gone'>;
  /** @param object as it was read; preconditions (uid, resourceVersion) delete exactly that object */
  delete(
    kind: ResourceKind,
    place: Place,
    object: WrittenObject,
    signal: AbortSignal,
  ): Promise<'deleted' | 'conflict' | 'gone'>;
  /** @param object as it was read; only `status` is written, if the object has not changed since */
  updateStatus(
    kind: ResourceKind,
    place: Place,
    object: WrittenObject,
    status: object,
    signal: AbortSignal,
  ): Promise<'updated' | 'conflict' | 'gone'>;
}

const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1' } as const;

/** The kinds of Stonegate's own objects, by their names. */
export const KINDS: Readonly<Record<ObjectKind, ResourceKind>> = {
  Tenant: { group: '', version: 'v1', resource: 'tenants', namespaced: false },
  Namespace: { group: '', version: 'v1', resource: 'namespaces', namespaced: false },
  ClusterRole: { ...RBAC, resource: 'clusterroles', namespaced: false },
  ClusterRoleBinding: { ...RBAC, resource: 'clusterrolebindings', namespaced: false },
  RoleBinding: { ...RBAC, resource: 'rolebindings', namespaced: true },
};

export function isBindingKind({ group, resource }: ResourceKind): boolean {
  return group === RBAC.group && resource.endsWith('bindings');
}

/** @param metadata of an object, or what else has a tenant or a namespace */
export function placeOf({
  tenant,
  namespace,
}: {
  readonly tenant?: string | undefined;
  readonly namespace?: string | undefined;
}): Place {
  return { ...(tenant !== undefined && { tenant }), ...(namespace !== undefined && { namespace }) };
}

/** Identifies an object. */
export function objectKey({ group, resource }: ResourceKind, place: Place, name: string): string {
  const { tenant = '', namespace = '' } = place;
  return [group, resource, tenant, namespace, name].join('/');
}

/** The name of a place in messages: `acme/web`, `acme`, `web`; empty for objects of the whole cluster. */
export function placeName({ tenant, namespace }: Place): string {
  return [tenant, namespace].filter((part) => part !== undefined).join('/');
}
