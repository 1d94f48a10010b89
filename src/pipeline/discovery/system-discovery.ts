/**
 * What Stonegate reads of the system tenant to complete other tenants' discovery: the list of its custom
 * resource definitions and its own discovery documents. If the list cannot be read, discovery stays as the
 * API server gives it: one group too many is a warning of kubectl's, and a 503 would stop every command.
 */
import { STONEGATE_ACCOUNT } from '../../api/upstream-request.ts';
import type { Clock } from '../../lib/clock.ts';
import type { DocumentCache } from '../../lib/document-cache.ts';
import type { Logger } from '../../lib/logger.ts';
import { type ResourceNames, readResourceList } from '../../tenancy/reduce-discovery.ts';
import { readSystemDefinitions, type SystemDefinitions } from '../../tenancy/system-definitions.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../ports.ts';

export interface SystemDiscovery {
  /** @returns undefined if they cannot be read */
  definitions(signal: AbortSignal): Promise<SystemDefinitions | undefined>;
  /**
   * @returns the resources that the system tenant has in that version, perhaps none; undefined if they cannot
   *   be read
   */
  resources(group: string, version: string, signal: AbortSignal): Promise<ResourceNames | undefined>;
}

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

export function createSystemDiscovery(options: SystemDiscoveryOptions): SystemDiscovery {
  const { fetcher, cache, clock, logger, ttl } = options;
  const parsed = new WeakMap<UpstreamResponse, unknown>();
  const unreadableUntil = new Map<string, number>();
  let quietUntil = 0;

  function fetchAsStonegate(target: string, accept: string, signal: AbortSignal): Promise<UpstreamResponse> {
    const request = { owner: OWNER, key: target, reusable: true };
    return cache.get(request, signal, (wanted) =>
      fetcher.fetch(
        {
          account: STONEGATE_ACCOUNT,
          sender: { kind: 'stonegate' },
          method: 'GET',
          target,
          headers: [['Accept', accept]],
        },
        wanted,
      ),
    );
  }

  async function read<T>(
    target: string,
    accept: string,
    signal: AbortSignal,
    parse: (body: unknown) => T | undefined,
    absent?: T,
  ): Promise<T | undefined> {
    if (clock.now() < (unreadableUntil.get(target) ?? 0)) return undefined;
    try {
      const answer = await fetchAsStonegate(target, accept, signal);
      if (answer.status === 404 && absent !== undefined) return absent;
      if (answer.status !== 200) throw new Error(`its status was ${answer.status}`);
      const known = parsed.get(answer) ?? JSON.parse(answer.body.toString('utf8'));
      parsed.set(answer, known);
      const document = parse(known);
      if (document === undefined) throw new Error('it is of another kind');
      return document;
    } catch (error) {
      if (!signal.aborted) noteUnreadable(target, error);
      return undefined;
    }
  }

  function noteUnreadable(target: string, error: unknown): void {
    const now = clock.now();
    if (unreadableUntil.size > MAX_UNREADABLE) unreadableUntil.clear();
    unreadableUntil.set(target, now + ttl);
    if (now < quietUntil) return;
    quietUntil = now + QUIET;
    logger.warn(
      { error, target },
      "the system tenant's custom resource definitions cannot be read, so tenants' discovery is shown without regard to them; `stonegate manifests rbac --config FILE` prints the right that is needed",
    );
  }

  return {
    definitions: (signal) => read(DEFINITIONS, METADATA_ONLY, signal, readSystemDefinitions),
    resources: (group, version, signal) =>
      read(`/apis/${group}/${version}`, 'application/json', signal, readResourceList, {
        groupVersion: `${group}/${version}`,
        resources: [],
      }),
  };
}

const MAX_UNREADABLE = 1_000;
