/**
 * What Stonegate reads of the system tenant to complete other tenants' discovery: the list of its custom
 * resource definitions and its own discovery documents. If the list cannot be read, discovery stays as the
 * API server gives it: one group too many is a warning of kubectl's, and a 503 would stop every command.
 */

import type { DocumentCache } from '../../cache/document-cache.ts';
import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { ownGet } from '../../kubernetes/upstream-request.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import { createExpiringCache, type ExpiringCache } from '../../limits/expiring-cache.ts';
import { type ResourceNames, resourceListSchema } from '../../tenancy/reduce-discovery.ts';
import { readSystemDefinitions, type SystemDefinitions } from '../../tenancy/system-definitions.ts';

export interface SystemDiscoveryOptions {
  readonly fetcher: UpstreamFetcher;
  /** Must keep responses with status 200 and 404 only, and for a moment also if they changed just now. */
  readonly cache: DocumentCache<UpstreamResponse>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds until a document that could not be read is asked for again. */
  readonly ttl: number;
}

/** Without a tenant a request of Stonegate's own is about the system tenant. */
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** Names and labels suffice; schemas are large. The full list is as good, if a server has no other. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
/** No tenant has such a name. */
const OWNER = ':stonegate';
const QUIET = 60_000;

const MAX_UNREADABLE = 1_000;

interface Reading<T> {
  readonly target: string;
  readonly accept: string;
  readonly parse: (body: unknown) => T | undefined;
  /** Stands for a document that the API server does not have. */
  readonly absent?: T;
}

export class SystemDiscovery {
  readonly #options: SystemDiscoveryOptions;
  readonly #parsed = memoizeByReference(({ body }: UpstreamResponse): unknown =>
    JSON.parse(body.toString('utf8')),
  );
  readonly #unreadable: ExpiringCache<true>;
  #quietUntil = 0;

  constructor(options: SystemDiscoveryOptions) {
    this.#options = options;
    this.#unreadable = createExpiringCache({ maxEntries: MAX_UNREADABLE, clock: options.clock });
  }

  /** @returns undefined if they cannot be read */
  definitions(signal: AbortSignal): Promise<SystemDefinitions | undefined> {
    return this.#read({ target: DEFINITIONS, accept: METADATA_ONLY, parse: readSystemDefinitions }, signal);
  }

  /**
   * @returns the resources that the system tenant has in that version, perhaps none; undefined if they cannot
   *   be read
   */
  resources(group: string, version: string, signal: AbortSignal): Promise<ResourceNames | undefined> {
    const groupVersion = `${group}/${version}`;
    return this.#read(
      {
        target: `/apis/${groupVersion}`,
        accept: JSON_TYPE,
        parse: (list) => resourceListSchema.safeParse(list).data,
        absent: { groupVersion, resources: [] },
      },
      signal,
    );
  }

  /** @returns undefined if it cannot be read */
  async #read<T>({ target, accept, parse, absent }: Reading<T>, signal: AbortSignal): Promise<T | undefined> {
    if (this.#unreadable.get(target)) return undefined;
    try {
      const response = await this.#fetch(target, accept, signal);
      if (response.status === 404 && absent !== undefined) return absent;
      if (response.status !== 200) throw new Error(`its status was ${response.status}`);
      const document = parse(this.#parsed(response));
      if (document === undefined) throw new Error('it is of another kind');
      return document;
    } catch (error) {
      if (!signal.aborted) this.#noteUnreadable(target, error);
      return undefined;
    }
  }

  #fetch(target: string, accept: string, signal: AbortSignal): Promise<UpstreamResponse> {
    const { cache, fetcher } = this.#options;
    return cache.get({ owner: OWNER, key: target, reusable: true }, signal, (wanted) =>
      fetcher.fetch(ownGet(target, accept), wanted),
    );
  }

  #noteUnreadable(target: string, error: unknown): void {
    const { clock, logger, ttl } = this.#options;
    const now = clock.now();
    this.#unreadable.set(target, true, now + ttl);
    if (now < this.#quietUntil) return;
    this.#quietUntil = now + QUIET;
    logger.warn(
      { error, target },
      "the system tenant's custom resource definitions cannot be read, so tenants' discovery is shown without regard to them; `stonegate manifests rbac --config FILE` prints the right that is needed",
    );
  }
}
