/**
 * Discovery documents: those of each tenant, and those of the system tenant, cached and fetched as Stonegate.
 */

import { createDocumentCache } from '../../cache/document-cache.ts';
import { DocumentChanges } from '../../cache/document-changes.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { SYSTEM_DISCOVERY_BYTES, TENANT_DISCOVERY_BYTES } from '../../limits/memory-bounds.ts';
import { actingTenant } from '../../proxy/acting-tenant.ts';
import type { Feature } from '../../proxy/feature.ts';
import { discoveryChange } from '../../tenancy/discovery-paths.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { Discovery, FeatureBuild } from '../build.ts';
import { DiscoveryDocuments } from './discovery-documents.ts';
import type { DiscoveryParts } from './feature.ts';
import { createDiscoveryHandler } from './handle-discovery.ts';
import { SystemDiscovery } from './system-discovery.ts';

/** Milliseconds for which the system tenant's documents are cached after a change of every tenant's. */
const SYSTEM_RECENT_TTL = 1_000;
/** A kubectl without a cache requests all groups at once. */
const TENANT_FETCHES = { running: 8, waiting: 256 };

export function createDiscovery(
  { parts: { ttl }, runtime, shared }: FeatureBuild<DiscoveryParts>,
  { fetcher, mode }: { readonly fetcher: UpstreamFetcher; readonly mode: TenancyMode },
): Discovery & { readonly feature: Feature } {
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
  const system = new SystemDiscovery({ ...runtime, fetcher, cache: systemCache, ttl });
  const documents = new DiscoveryDocuments({ fetcher, cache, mode, system });
  return {
    resources: documents,
    cache,
    feature: {
      handlers: { discovery: createDiscoveryHandler(documents) },
      responseHooks: [changesOf(mode, changes)],
    },
  };
}

/** Sees the requests that change a tenant's discovery. */
function changesOf(
  mode: TenancyMode,
  changes: DocumentChanges,
): NonNullable<Feature['responseHooks']>[number] {
  return (outgoing) => {
    const change = discoveryChange(outgoing.info, actingTenant(outgoing), mode);
    if (change === undefined) return undefined;
    return {
      onHead(status) {
        // A server that failed may still have written.
        if (status < 300 || status >= 500) changes.changed(change.owner);
      },
    };
  };
}
