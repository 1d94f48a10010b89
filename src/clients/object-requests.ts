/**
 * Requests for objects of any kind through the API server's REST API, with the provisioning credential. Lists
 * are read page by page, and again from the start if a page has expired (410). Updates and deletions carry
 * preconditions, so that a concurrent change wins.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */

import type { NamedObjectMeta } from '../api/kubernetes-object.ts';
import type { Account } from '../api/upstream-request.ts';
import { StatusError } from '../errors/status-error.ts';
import { TooLarge } from '../lib/byte-budget.ts';
import type { HeaderField } from '../lib/header-list.ts';
import { goList, isJSONObject, type JSONObject } from '../lib/json-object.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../pipeline/ports.ts';
import { forbidden, objectIn, reasonOf, unexpected, unusable } from './cluster-object-response.ts';

const PAGE = 500;
/**
 * A page that is too large is requested again with so many times fewer objects, so that large objects cannot
 * hide others.
 */
const FEWER = 8;
const MAX_PAGES = 2_000;
/** How often a list is read from the start. */
const ATTEMPTS = 3;

export interface ObjectList<T> {
  /** Of the list: `SecretList`. */
  readonly kind: unknown;
  readonly apiVersion: unknown;
  readonly items: readonly T[];
}

interface WithMeta {
  readonly metadata: NamedObjectMeta;
}

/** Every function throws StatusError if the API server refuses, or does not respond as it should. */
export class ObjectRequests {
  readonly #fetcher: UpstreamFetcher;
  readonly #account: Account;

  /** @param account charged for the requests */
  constructor(fetcher: UpstreamFetcher, account: Account) {
    this.#fetcher = fetcher;
    this.#account = account;
  }

  async list(path: string, labelSelector: string, signal: AbortSignal): Promise<ObjectList<unknown>> {
    return this.listEach(path, labelSelector, signal, (item) => item);
  }

  /**
   * @param labelSelector empty for all
   * @param read what is needed of an item, called with the `kind` of the list: whole items of many pages may
   *   take much memory. It may be called again for the same items.
   */
  async listEach<T>(
    path: string,
    labelSelector: string,
    signal: AbortSignal,
    read: (item: unknown, kind: unknown) => T,
  ): Promise<ObjectList<T>> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const list = await this.#listOnce(path, labelSelector, signal, read);
      if (list !== undefined) return list;
    }
    throw unusable(new Error(`the list ${path} changes faster than it can be read`));
  }

  /** @returns undefined if there is none */
  async get(path: string, signal: AbortSignal): Promise<JSONObject | undefined> {
    const response = await this.#ask('GET', path, signal);
    if (response.status === 404) return undefined;
    if (response.status !== 200) throw unexpected(response, `get ${path}`);
    return objectIn(response);
  }

  /** @param path of the collection */
  async create(path: string, object: object, signal: AbortSignal): Promise<'created' | 'exists'> {
    const response = await this.#ask('POST', path, signal, object);
    if (response.status === 201) return 'created';
    if (response.status === 409 && reasonOf(response) === 'AlreadyExists') return 'exists';
    throw unexpected(response, `create ${path}`);
  }

  async update(path: string, object: object, signal: AbortSignal): Promise<'updated' | 'conflict' | 'gone'> {
    const response = await this.#ask('PUT', path, signal, object);
    if (response.status === 200) return 'updated';
    if (response.status === 409) return 'conflict';
    if (response.status === 404) return 'gone';
    throw unexpected(response, `update ${path}`);
  }

  async delete(
    path: string,
    object: WithMeta,
    signal: AbortSignal,
  ): Promise<'deleted' | 'conflict' | 'gone'> {
    const response = await this.#ask('DELETE', path, signal, deleteOptions(object));
    if (response.status === 200 || response.status === 202) return 'deleted';
    if (response.status === 409) return 'conflict';
    if (response.status === 404) return 'gone';
    throw unexpected(response, `delete ${path}`);
  }

  /** @returns undefined if the list must be read again from the start */
  async #listOnce<T>(
    path: string,
    selector: string,
    signal: AbortSignal,
    read: (item: unknown, kind: unknown) => T,
  ): Promise<ObjectList<T> | undefined> {
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
      const { items: listed, metadata, kind, apiVersion } = objectIn(response);
      const items = goList(listed);
      if (items === undefined) throw unusable(new Error('the list has no items'));
      for (const item of items) found.push(read(item, kind));
      next = isJSONObject(metadata) && typeof metadata.continue === 'string' ? metadata.continue : '';
      if (next === '') return { kind, apiVersion, items: found };
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

function deleteOptions({ metadata }: WithMeta): object {
  const { uid, resourceVersion } = metadata;
  if (uid === undefined) throw new TypeError('only what was read can be deleted');
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    preconditions: { uid, ...(resourceVersion !== undefined && { resourceVersion }) },
  };
}
