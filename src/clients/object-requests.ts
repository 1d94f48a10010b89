/**
 * Requests for objects of any kind through the API server's REST API, with the provisioning credential. Lists
 * are read again from the start if a page has expired (410). Updates and deletions carry
 * preconditions, so that a concurrent change wins.
 */

import type { NamedObjectMeta } from '../api/kubernetes-object.ts';
import type { Account } from '../api/upstream-request.ts';
import type { HeaderField } from '../lib/header-list.ts';
import type { JSONObject } from '../lib/json-object.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../pipeline/ports.ts';
import { forbidden, objectIn, reasonOf, unexpected, unusable } from './cluster-object-response.ts';
import { listPages, MalformedObject, UnexpectedStatus } from './list-pages.ts';

/** How often a list is read from the start. */
const ATTEMPTS = 3;

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

  /**
   * @param labelSelector empty for all
   * @param read what is needed of an item, called with the `kind` of the list: whole items of many pages may
   *   take much memory. It may be called again for the same items.
   */
  async list<T>(
    path: string,
    labelSelector: string,
    signal: AbortSignal,
    read: (item: unknown, kind: unknown) => T,
  ): Promise<readonly T[]> {
    const selector = labelSelector === '' ? '' : `&labelSelector=${encodeURIComponent(labelSelector)}`;
    const pages = async (query: string) => {
      const response = await this.#ask('GET', `${path}?${query}${selector}`, signal);
      if (response.status === 200 || response.status === 410) return response;
      throw unexpected(response, `list ${path}`);
    };
    for (let attempt = 1; ; attempt += 1) {
      const found: T[] = [];
      try {
        for await (const { items, kind } of listPages(pages))
          for (const { value } of items) found.push(read(value, kind));
        return found;
      } catch (error) {
        if (error instanceof MalformedObject) throw unusable(error);
        if (!(error instanceof UnexpectedStatus)) throw error;
        if (attempt === ATTEMPTS) throw unusable(new Error(`the list ${path} expired ${attempt} times`));
      }
    }
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

function deleteOptions({ metadata }: WithMeta): object {
  const { uid, resourceVersion } = metadata;
  if (uid === undefined) throw new TypeError('only what was read can be deleted');
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    preconditions: { uid, ...(resourceVersion !== undefined && { resourceVersion }) },
  };
}
