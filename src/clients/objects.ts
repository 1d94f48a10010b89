/**
 * Objects of any kind at the API server, read and written with the provisioning credential. Lists are read
 * page by page, and again from the start if a page has expired (410). Updates and deletions carry
 * preconditions, so that a concurrent change wins.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
import type { ResourceKind } from '../api/kubernetes-object.ts';
import { type Account, STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import { StatusError } from '../errors/status-error.ts';
import { TooLarge } from '../lib/byte-budget.ts';
import type { HeaderField } from '../lib/header-list.ts';
import { goList, isJSONObject } from '../lib/json-object.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../pipeline/ports.ts';
import type { Objects, Place, StoredObject, WrittenObject } from '../reconcile/objects.ts';
import { collectionPath, objectPath, storedObject } from './object-format.ts';
import { forbidden, objectIn, reasonOf, unexpected, unusable } from './object-response.ts';

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
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const list = await this.#listOnce(path, labelSelector, signal, (item, listed) =>
        read(storedObject(item, kind, listed)),
      );
      if (list !== undefined) return list;
    }
    throw unusable(new Error(`the list ${path} changes faster than it can be read`));
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

  /** @returns undefined if the list must be read again from the start */
  async #listOnce<T>(
    path: string,
    selector: string,
    signal: AbortSignal,
    read: (item: unknown, kind: string | undefined) => T,
  ): Promise<readonly T[] | undefined> {
    const found: T[] = [];
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
      const { items: listed, metadata, kind } = objectIn(response);
      const items = goList(listed);
      if (items === undefined) throw unusable(new Error('the list has no items'));
      const [, itemKind] = /^(\w+)List$/.exec(String(kind)) ?? [];
      for (const item of items) found.push(read(item, itemKind));
      next = isJSONObject(metadata) && typeof metadata.continue === 'string' ? metadata.continue : '';
      if (next === '') return found;
    }
    throw unusable(new Error('the list has no end'));
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

function deleteOptions({ metadata }: WrittenObject): object {
  const { uid, resourceVersion } = metadata;
  if (uid === undefined) throw new TypeError('only what was read can be deleted');
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    preconditions: { uid, ...(resourceVersion !== undefined && { resourceVersion }) },
  };
}
