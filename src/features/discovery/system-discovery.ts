/**
 * What Stonegate reads of the system tenant to complete other tenants' discovery: the list of its custom
 * resource definitions and its own discovery documents. If the list cannot be read, discovery stays as the
 * API server gives it: one group too many is a warning of kubectl's, and a 503 would stop every command.
 */

import type { DocumentCache } from '../../cache/document-cache.ts';
import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { type Account, ownGet, STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import type { Runtime } from '../../lib/runtime.ts';
import type { GroupVersion } from '../../proxy/discovered-resources.ts';
import { type ResourceNames, resourceListSchema } from '../../tenancy/reduce-discovery.ts';
import { readSystemDefinitions, type SystemDefinitions } from '../../tenancy/system-definitions.ts';

export interface SystemDiscoveryOptions extends Pick<Runtime, 'clock' | 'logger'> {
  readonly fetcher: UpstreamFetcher;
  /** Must keep responses with status 200 and 404 only, and for a moment also if they changed just now. */
  readonly cache: DocumentCache<UpstreamResponse>;
  /** Milliseconds until definitions that could not be read are asked for again. */
  readonly ttl: number;
}

/** Without a tenant a request of Stonegate's own is about the system tenant. */
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** Names and labels suffice; schemas are large. The full list is as good, if a server has no other. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
/** No tenant has such a name. */
const OWNER = ':stonegate';
const QUIET = 60_000;

interface Reading<T> {
  readonly target: string;
  readonly account: Account;
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
  #unreadableUntil = 0;
  #quietUntil = 0;

  constructor(options: SystemDiscoveryOptions) {
    this.#options = options;
  }

  /** @returns undefined if they cannot be read */
  async definitions(signal: AbortSignal): Promise<SystemDefinitions | undefined> {
    const { clock, ttl } = this.#options;
    if (clock.now() < this.#unreadableUntil) return undefined;
    const found = await this.#read(
      {
        ...{ target: DEFINITIONS, account: STONEGATE_ACCOUNT, accept: METADATA_ONLY },
        parse: readSystemDefinitions,
      },
      signal,
    );
    if (found === undefined && !signal.aborted) this.#unreadableUntil = clock.now() + ttl;
    return found;
  }

  /**
   * @param account of the client, which may have made up the version
   * @returns the resources that the system tenant has in that version, perhaps none; undefined if they cannot
   *   be read
   */
  resources(
    { group, version }: GroupVersion,
    account: Account,
    signal: AbortSignal,
  ): Promise<ResourceNames | undefined> {
    const groupVersion = `${group}/${version}`;
    return this.#read(
      {
        ...{ target: `/apis/${groupVersion}`, account, accept: JSON_TYPE },
        parse: (list) => resourceListSchema.safeParse(list).data,
        absent: { groupVersion, resources: [] },
      },
      signal,
    );
  }

  /** @returns undefined if it cannot be read */
  async #read<T>(
    { target, account, accept, parse, absent }: Reading<T>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const { cache, fetcher } = this.#options;
    const request = { owner: OWNER, queue: JSON.stringify(account), key: target, reusable: true };
    try {
      const response = await cache.get(request, signal, (wanted) =>
        fetcher.fetch({ ...ownGet(target, accept), account }, wanted),
      );
      if (response.status === 404 && absent !== undefined) return absent;
      if (response.status !== 200) throw new Error(`its status was ${response.status}`);
      const document = parse(this.#parsed(response));
      if (document === undefined) throw new Error('it is of another kind');
      return document;
    } catch (error) {
      if (!signal.aborted) this.#logUnreadable(target, error);
      return undefined;
    }
  }

  #logUnreadable(target: string, error: unknown): void {
    const { clock, logger } = this.#options;
    const now = clock.now();
    if (now < this.#quietUntil) return;
    this.#quietUntil = now + QUIET;
    logger.warn(
      { error, target },
      "the system tenant's custom resource definitions cannot be read, so tenants' discovery is shown without regard to them; `stonegate manifests rbac --config FILE` prints the right that is needed",
    );
  }
}
