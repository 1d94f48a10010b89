/**
 * What publishing asks of the API server, with the provisioning credential. `clients/` implements it.
 */
import type { NamedObjectMeta } from '../api/kubernetes-object.ts';
import type { PublishedKind } from '../api/published-objects.ts';

export interface PublishedMeta extends NamedObjectMeta {
  /** In arktos mode. */
  readonly tenant?: string;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly unknown[];
}

/** An object of any kind, with all its fields. */
export interface PublishedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: PublishedMeta;
  readonly [field: string]: unknown;
}

/** In Arktos, what is no Tenant has a tenant; `all` is every tenant, for lists. */
export interface Place {
  readonly tenant?: string;
  readonly namespace?: string;
}

export interface PublishedObjects {
  /**
   * All objects of a kind, of all namespaces if `place` has none. A refusal or an incomplete response is
   * thrown, so that it never looks like an empty list.
   *
   * @param labelSelector as in the API; empty for all
   * @param read what is needed of an object: whole objects of all tenants may take much memory
   * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential,
   *   ProvisioningForbidden, ProvisioningRefused, as every function here
   */
  list<T>(
    kind: PublishedKind,
    place: Place,
    labelSelector: string,
    signal: AbortSignal,
    read: (object: PublishedObject) => T,
  ): Promise<readonly T[]>;
  /** @returns undefined if there is none */
  get(
    kind: PublishedKind,
    place: Place,
    name: string,
    signal: AbortSignal,
  ): Promise<PublishedObject | undefined>;
  /** @returns `exists` if the name is taken */
  create(
    kind: PublishedKind,
    place: Place,
    object: PublishedObject,
    signal: AbortSignal,
  ): Promise<'created' | 'exists'>;
  /** @param object with the `resourceVersion` it was read with, so that a concurrent change wins */
  update(
    kind: PublishedKind,
    place: Place,
    object: PublishedObject,
    signal: AbortSignal,
  ): Promise<'updated' | 'conflict' | 'gone'>;
  /** @param object as it was read; preconditions (uid, resourceVersion) delete exactly that object */
  delete(
    kind: PublishedKind,
    place: Place,
    object: PublishedObject,
    signal: AbortSignal,
  ): Promise<'deleted' | 'conflict' | 'gone'>;
}
