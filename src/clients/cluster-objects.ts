/**
 * The objects that Stonegate provisions, read and written with the provisioning credential.
 */

import type { KubernetesObject, ObjectKind } from '../api/kubernetes-object.ts';
import { type Account, STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import type { ClusterObjects, KubernetesObjectReference, Place } from '../bindings/ports.ts';
import type { UpstreamFetcher } from '../pipeline/ports.ts';
import { collectionPath, isOfKind, objectPath } from './cluster-object-format.ts';
import { believed, unusable } from './cluster-object-response.ts';
import { ObjectRequests } from './object-requests.ts';

/** @param account charged for the requests */
export function createClusterObjects(
  fetcher: UpstreamFetcher,
  account: Account = STONEGATE_ACCOUNT,
): ClusterObjects {
  return new RESTObjects(new ObjectRequests(fetcher, account));
}

class RESTObjects implements ClusterObjects {
  readonly #requests: ObjectRequests;

  constructor(requests: ObjectRequests) {
    this.#requests = requests;
  }

  async list<K extends ObjectKind>(
    kind: K,
    place: Place,
    labelSelector: string,
    signal: AbortSignal,
  ): Promise<readonly Extract<KubernetesObject, { kind: K }>[]> {
    return this.#requests.list(collectionPath(kind, place), labelSelector, signal, (item) => {
      const object = believed(item, kind);
      if (isOfKind(object, kind)) return object;
      throw unusable(new Error(`a member of the list is no ${kind}`));
    });
  }

  async get(
    reference: KubernetesObjectReference,
    signal: AbortSignal,
  ): Promise<KubernetesObject | undefined> {
    const { kind, name, ...place } = reference;
    const object = await this.#requests.get(objectPath(kind, place, name), signal);
    return object && believed(object, kind);
  }

  async create(object: KubernetesObject, place: Place, signal: AbortSignal): Promise<'created' | 'exists'> {
    return this.#requests.create(collectionPath(object.kind, place), object, signal);
  }

  async update(
    object: KubernetesObject,
    place: Place,
    signal: AbortSignal,
  ): Promise<'updated' | 'conflict' | 'gone'> {
    return this.#requests.update(pathOf(object, place), object, signal);
  }

  async delete(
    object: KubernetesObject,
    place: Place,
    signal: AbortSignal,
  ): Promise<'deleted' | 'conflict' | 'gone'> {
    return this.#requests.delete(pathOf(object, place), object, signal);
  }
}

function pathOf({ kind, metadata }: KubernetesObject, place: Place): string {
  return objectPath(kind, place, metadata.name);
}
