/**
 * Reads and writes objects through the API server's REST API with the provisioning credential. Lists are
 * read page by page, and again from the start if a page has expired (410). Updates and deletions carry
 * preconditions, so that a concurrent change wins.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */

import type { KubernetesObject, ObjectKind } from '../api/kubernetes-object.ts';
import { type Account, STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import type { ClusterObjects, KubernetesObjectReference, Place } from '../bindings/ports.ts';
import { StatusError } from '../errors/status-error.ts';
import { TooLarge } from '../lib/byte-budget.ts';
import type { HeaderField } from '../lib/header-list.ts';
import { isJSONObject } from '../lib/json-object.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../pipeline/ports.ts';
import { collectionPath, isOfKind, objectPath } from './cluster-object-format.ts';
import { believed, forbidden, objectIn, reasonOf, unexpected, unusable } from './cluster-object-response.ts';

const PAGE = 500;
/**
 * A page that is too large is requested again with so many times fewer objects, so that large objects cannot
 * hide others.
 */
const FEWER = 8;
const MAX_PAGES = 2_000;
/** How often a list is read from the start. */
const ATTEMPTS = 3;

/** @param account charged for the requests */
export function createClusterObjects(
  fetcher: UpstreamFetcher,
  account: Account = STONEGATE_ACCOUNT,
): ClusterObjects {
  return new RESTObjects(fetcher, account);
}

class RESTObjects implements ClusterObjects {
  readonly #fetcher: UpstreamFetcher;
  readonly #account: Account;

  constructor(fetcher: UpstreamFetcher, account: Account) {
    this.#fetcher = fetcher;
    this.#account = account;
  }

  async list<K extends ObjectKind>(
    kind: K,
    place: Place,
    labelSelector: string,
    signal: AbortSignal,
  ): Promise<readonly Extract<KubernetesObject, { kind: K }>[]> {
    const path = collectionPath(kind, place);
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const items = await this.#listOnce(path, labelSelector, signal);
      if (items === undefined) continue;
      return items.map((item) => {
        const object = believed(item, kind);
        if (isOfKind(object, kind)) return object;
        throw unusable(new Error(`a member of the list is no ${kind}`));
      });
    }
    throw unusable(new Error(`the list ${path} changes faster than it can be read`));
  }

  async get(
    reference: KubernetesObjectReference,
    signal: AbortSignal,
  ): Promise<KubernetesObject | undefined> {
    const path = pathOf(reference);
    const response = await this.#ask('GET', path, signal);
    if (response.status === 404) return undefined;
    if (response.status !== 200) throw unexpected(response, `get ${path}`);
    return believed(objectIn(response), reference.kind);
  }

  async create(object: KubernetesObject, place: Place, signal: AbortSignal): Promise<'created' | 'exists'> {
    const path = collectionPath(object.kind, place);
    const response = await this.#ask('POST', path, signal, object);
    if (response.status === 201) return 'created';
    if (response.status === 409 && reasonOf(response) === 'AlreadyExists') return 'exists';
    throw unexpected(response, `create ${path}`);
  }

  async update(
    object: KubernetesObject,
    place: Place,
    signal: AbortSignal,
  ): Promise<'updated' | 'conflict' | 'gone'> {
    const path = pathOf({ kind: object.kind, name: object.metadata.name, ...place });
    const response = await this.#ask('PUT', path, signal, object);
    if (response.status === 200) return 'updated';
    if (response.status === 409) return 'conflict';
    if (response.status === 404) return 'gone';
    throw unexpected(response, `update ${path}`);
  }

  async delete(
    object: KubernetesObject,
    place: Place,
    signal: AbortSignal,
  ): Promise<'deleted' | 'conflict' | 'gone'> {
    const path = pathOf({ kind: object.kind, name: object.metadata.name, ...place });
    const response = await this.#ask('DELETE', path, signal, deleteOptions(object));
    if (response.status === 200 || response.status === 202) return 'deleted';
    if (response.status === 409) return 'conflict';
    if (response.status === 404) return 'gone';
    throw unexpected(response, `delete ${path}`);
  }

  /** @returns undefined if the list must be read again from the start */
  async #listOnce(path: string, selector: string, signal: AbortSignal): Promise<unknown[] | undefined> {
    const found: unknown[] = [];
    let next = '';
    let limit = PAGE;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = new URLSearchParams({
        limit: String(limit),
        ...(selector !== '' && { labelSelector: selector }),
        ...(next !== '' && { continue: next }),
      });
      const response = await unlessTooLarge(this.#ask('GET', `${path}?${query}`, signal), limit > 1);
      if (response === undefined) {
        limit = Math.ceil(limit / FEWER);
        continue;
      }
      limit = Math.min(PAGE, limit * 2);
      if (response.status === 410) return undefined;
      if (response.status !== 200) throw unexpected(response, `list ${path}`);
      const { items, metadata } = objectIn(response);
      // Go may encode an empty list as null.
      if (items !== null && !Array.isArray(items)) throw unusable(new Error('the list has no items'));
      found.push(...(items ?? []));
      next = isJSONObject(metadata) && typeof metadata.continue === 'string' ? metadata.continue : '';
      if (next === '') return found;
    }
    throw unusable(new Error('the list has no end'));
  }

  async #ask(method: string, target: string, signal: AbortSignal, body?: object): Promise<UpstreamResponse> {
    const accept: HeaderField = ['Accept', 'application/json'];
    const response = await this.#fetcher.fetch(
      {
        account: this.#account,
        sender: { kind: 'stonegate' },
        method,
        target,
        ...(body === undefined
          ? { headers: [accept] }
          : { headers: [accept, ['Content-Type', 'application/json']], body: JSON.stringify(body) }),
      },
      signal,
    );
    if (response.status === 403) throw forbidden(response, `${method} ${target}`);
    return response;
  }
}

/** @returns undefined for a page that is too large, if it can be split */
async function unlessTooLarge(
  page: Promise<UpstreamResponse>,
  divisible: boolean,
): Promise<UpstreamResponse | undefined> {
  try {
    return await page;
  } catch (error) {
    if (divisible && error instanceof StatusError && error.cause instanceof TooLarge) return undefined;
    throw error;
  }
}

function pathOf({ kind, name, ...place }: KubernetesObjectReference): string {
  return objectPath(kind, place, name);
}

function deleteOptions({ metadata }: KubernetesObject): object {
  const { uid, resourceVersion } = metadata;
  if (uid === undefined) throw new TypeError('only what was read can be deleted');
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    preconditions: { uid, ...(resourceVersion !== undefined && { resourceVersion }) },
  };
}
