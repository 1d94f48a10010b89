/**
 * Discovery documents: those of each tenant, and those of the system tenant, cached and fetched as Stonegate.
 */

import { createDocumentCache } from '../../cache/document-cache.ts';
import { DocumentChanges } from '../../cache/document-changes.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { SYSTEM_DISCOVERY_BYTES, TENANT_DISCOVERY_BYTES } from '../../limits/memory-bounds.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { Discovery, FeatureBuild } from '../build.ts';
import { createDiscoveryDocuments } from './discovery-documents.ts';
import { createSystemDiscovery } from './system-discovery.ts';

/** Milliseconds for which the system tenant's documents are cached after a change of every tenant's. */
const SYSTEM_RECENT_TTL = 1_000;
/** A kubectl without a cache requests all groups at once. */
const TENANT_FETCHES = { running: 8, waiting: 256 };

export type { DiscoveryDocuments } from './discovery-documents.ts';
export { preferredVersion } from './preferred-version.ts';

export function createDiscovery(
  build: FeatureBuild,
  { fetcher, mode }: { readonly fetcher: UpstreamFetcher; readonly mode: TenancyMode },
): Discovery {
  const { loaded, runtime, shared } = build;
  const { discoveryTTL: ttl } = loaded.configuration.tenancy;
  // One for both caches: a change that one cache publishes would else be new to the other.
  const changes = new DocumentChanges({ shared: shared.cache, period: ttl, ...runtime });
  const options = {
    ttl,
    maxBytes: TENANT_DISCOVERY_BYTES,
    fetches: TENANT_FETCHES,
    sizeOf: ({ body }: UpstreamResponse) => body.length,
    isCacheable: ({ status }: UpstreamResponse) => status === 200,
    changes,
    ...runtime,
  };
  const cache = createDocumentCache<UpstreamResponse>(options);
  const systemCache = createDocumentCache<UpstreamResponse>({
    ...options,
    maxBytes: SYSTEM_DISCOVERY_BYTES,
    recentTTL: SYSTEM_RECENT_TTL,
    isCacheable: ({ status }: UpstreamResponse) => status === 200 || status === 404,
  });
  const system = createSystemDiscovery({ ...runtime, fetcher, cache: systemCache, ttl });
  return {
    documents: createDiscoveryDocuments({ fetcher, cache, mode, system }),
    cache,
    changed: (owner) => changes.changed(owner),
  };
}
