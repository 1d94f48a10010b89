/**
 * Objects of any kind at the API server, read and written with the provisioning credential. Lists are read
 * page by page, and again from the start if a page has expired (410). Updates and deletions carry
 * preconditions, so that a concurrent change wins.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */

import type { HeaderField } from '../lib/header-list.ts';
import type { ResourceKind } from './kubernetes-object.ts';
import { listPages, MalformedObject, UnexpectedStatus } from './list-pages.ts';
import { collectionPath, objectPath, storedObject } from './object-format.ts';
import { forbidden, objectIn, reasonOf, unexpected, unusable } from './object-response.ts';
import type { Objects, Place, StoredObject, WrittenObject } from './reconcile/objects.ts';
import type { UpstreamFetcher, UpstreamResponse } from './upstream-ports.ts';
import { type Account, STONEGATE_ACCOUNT } from './upstream-request.ts';

/** How often a list is read from the start. */
const ATTEMPTS = 3;

/** @param account charged for the requests */
export function createObjects(fetcher: UpstreamFetcher, account: Account = STONEGATE_ACCOUNT): Objects {
  return new RESTObjects(fetcher, account);
}

class RESTObjects implements Objects {
  readonly #fetcher: UpstreamFetcher;
  readonly #account: Account;

  constructor(fetcher: UpstreamFetcher, account: Account) {
    this.#fetcher = fetcher;
    this.#account = account;
  }

  async list<T>(
    kind: ResourceKind,
    place: Place,
    labelSelector: string,
    signal: AbortSignal,
    read: (object: StoredObject) => T,
  ): Promise<readonly T[]> {
    const path = collectionPath(kind, place);
    const selector = labelSelector === '' ? '' : `&labelSelector=${encodeURIComponent(labelSelector)}`;
    const pages = async (query: string) => {
      const response = await this.#ask('GET', `${path}?${query}${selector}`, signal);
      if (response.status === 200 || response.status === 410) return response;
      throw unexpected(response, `list ${path}`);
    };
    for (let attempt = 1; ; attempt += 1) {
      const found: T[] = [];
      try {
        for await (const { items, kind: listKind } of listPages(pages)) {
          const [, itemKind] = /^(\w+)List$/.exec(String(listKind)) ?? [];
          for (const { value } of items) found.push(read(storedObject(value, kind, itemKind)));
        }
        return found;
      } catch (error) {
        if (error instanceof MalformedObject) throw unusable(error);
        if (!(error instanceof UnexpectedStatus)) throw error;
        if (attempt === ATTEMPTS) throw unusable(new Error(`the list ${path} expired ${attempt} times`));
      }
    }
  }

  async get(kind: ResourceKind, place: Place, name: string, signal: AbortSignal) {
    const path = objectPath(kind, place, name);
    const response = await this.#ask('GET', path, signal);
    if (response.status === 404) return undefined;
    if (response.status !== 200) throw unexpected(response, `get ${path}`);
    return storedObject(objectIn(response), kind, undefined);
  }

  async create(kind: ResourceKind, place: Place, object: WrittenObject, signal: AbortSignal) {
    const path = collectionPath(kind, place);
    const response = await this.#ask('POST', path, signal, object);
    if (response.status === 201) return 'created';
    if (response.status === 409 && reasonOf(response) === 'AlreadyExists') return 'exists';
    throw unexpected(response, `create ${path}`);
  }

  async update(kind: ResourceKind, place: Place, object: WrittenObject, signal: AbortSignal) {
    const path = objectPath(kind, place, object.metadata.name);
    return written(await this.#ask('PUT', path, signal, object), `update ${path}`);
  }

  async delete(kind: ResourceKind, place: Place, object: WrittenObject, signal: AbortSignal) {
    const path = objectPath(kind, place, object.metadata.name);
    const response = await this.#ask('DELETE', path, signal, deleteOptions(object));
    if (response.status === 200 || response.status === 202) return 'deleted';
    if (response.status === 409) return 'conflict';
    if (response.status === 404) return 'gone';
    throw unexpected(response, `delete ${path}`);
  }

  /** Arktos has no apply patch, so it is a merge patch (RFC 7396). */
  async updateStatus(
    kind: ResourceKind,
    place: Place,
    { metadata: { name, resourceVersion } }: WrittenObject,
    status: object,
    signal: AbortSignal,
  ) {
    const path = `${objectPath(kind, place, name)}/status`;
    const patch = { metadata: { resourceVersion }, status };
    return written(await this.#ask('PATCH', path, signal, patch), `update ${path}`);
  }

  async #ask(method: string, target: string, signal: AbortSignal, body?: object): Promise<UpstreamResponse> {
    const accept: HeaderField = ['Accept', 'application/json'];
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const response = await this.#fetcher.fetch(
      {
        account: this.#account,
        sender: { kind: 'stonegate' },
        method,
        target,
        ...(body === undefined
          ? { headers: [accept] }
          : { headers: [accept, ['Content-Type', type]], body: JSON.stringify(body) }),
      },
      signal,
    );
    if (response.status === 403) throw forbidden(response, `${method} ${target}`);
    return response;
  }
}

function written(response: UpstreamResponse, what: string): 'updated' | 'conflict' | 'gone' {
  if (response.status === 200) return 'updated';
  if (response.status === 409) return 'conflict';
  if (response.status === 404) return 'gone';
  throw unexpected(response, what);
}

function deleteOptions({ metadata }: WrittenObject): object {
  const { uid, resourceVersion } = metadata;
  if (uid === undefined) throw new TypeError('only what was read can be deleted');
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    preconditions: { uid, ...(resourceVersion !== undefined && { resourceVersion }) },
  };
}
