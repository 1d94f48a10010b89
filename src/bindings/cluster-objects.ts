/**
 * The port to the objects of the API server, asked with the provisioning credential. Implemented in
 * `clients/cluster-objects.ts`. Every refusal of the API server that is no plain answer is thrown: half of an answer
 * must never look like an empty cluster.
 */
import type { KubernetesObject, ObjectKind } from '../api/kubernetes-object.ts';

/** Where an object lives: in Arktos every one but a Tenant has a tenant; elsewhere none has. */
export interface Place {
  readonly tenant?: string;
  readonly namespace?: string;
}

export interface ObjectReference extends Place {
  readonly kind: ObjectKind;
  readonly name: string;
}

export interface ClusterObjects {
  /**
   * All of a kind, page by page; bindings of all namespaces where `place` names none.
   *
   * @param labelSelector as in the API, `stonegate.dev/managed-by=stonegate`; empty for all
   * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential, ProvisioningForbidden
   */
  list<K extends ObjectKind>(
    kind: K,
    place: Place,
    labelSelector: string,
    signal: AbortSignal,
  ): Promise<readonly Extract<KubernetesObject, { kind: K }>[]>;
  /** @returns undefined where there is none */
  get(reference: ObjectReference, signal: AbortSignal): Promise<KubernetesObject | undefined>;
  /** @returns `exists` where the name is taken */
  create(object: KubernetesObject, place: Place, signal: AbortSignal): Promise<'created' | 'exists'>;
  /** @param object with the `resourceVersion` it was read with: who changed it meanwhile wins */
  update(
    object: KubernetesObject,
    place: Place,
    signal: AbortSignal,
  ): Promise<'updated' | 'conflict' | 'gone'>;
  /** @param object as it was read: only that very one is deleted (preconditions uid and resourceVersion) */
  delete(
    object: KubernetesObject,
    place: Place,
    signal: AbortSignal,
  ): Promise<'deleted' | 'conflict' | 'gone'>;
}
