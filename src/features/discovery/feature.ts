/**
 * Discovery documents: those of each tenant, and those of the system tenant, cached and fetched as Stonegate.
 */

import { createShared } from '../../app/cache.ts';
import { createDocumentCache } from '../../cache/document-cache.ts';
import type { DocumentCache } from '../../cache/document-cache-port.ts';
import { DocumentChanges } from '../../cache/document-changes.ts';
import type { Build } from '../../config/build.ts';
import { SYSTEM_DISCOVERY_BYTES, TENANT_DISCOVERY_BYTES } from '../../limits/memory-bounds.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../proxy/ports.ts';
import type { TenantName } from '../../tenancy/identity.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { createDiscoveryDocuments, type DiscoveryDocuments } from './discovery-documents.ts';
import { createSystemDiscovery } from './system-discovery.ts';

/** Milliseconds for which the system tenant's documents are cached after a change of every tenant's. */
const SYSTEM_RECENT_TTL = 1_000;
/** A kubectl without a cache requests all groups at once. */
const TENANT_FETCHES = { running: 8, waiting: 256 };

export interface Discovery {
  readonly documents: DiscoveryDocuments;
  /** The documents of all tenants. */
  readonly cache: DocumentCache<UpstreamResponse>;
  /** To be called after a request that may have changed an owner's documents; undefined: every tenant's. */
  readonly changed: (owner: TenantName | undefined) => void;
}

export function createDiscovery(
  build: Build,
  { fetcher, mode }: { readonly fetcher: UpstreamFetcher; readonly mode: TenancyMode },
): Discovery {
  const { loaded, runtime } = build;
  const { discoveryTTL: ttl } = loaded.configuration.tenancy;
  // One for both caches: a change that one cache publishes would else be new to the other.
  const changes = new DocumentChanges({ shared: createShared(build).cache, period: ttl, ...runtime });
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
