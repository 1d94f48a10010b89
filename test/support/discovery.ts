/** A cache of discovery documents, in one process, in front of an API server that the test plays. */
import { createDocumentCache } from '../../src/cache/document-cache.ts';
import { DocumentChanges } from '../../src/cache/document-changes.ts';
import { createProcessCache } from '../../src/cache/process-cache.ts';
import { DiscoveryDocuments } from '../../src/features/discovery/discovery-documents.ts';
import { SystemDiscovery } from '../../src/features/discovery/system-discovery.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../src/kubernetes/upstream-ports.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { noTelemetry } from '../../src/lib/telemetry.ts';
import type { TenancyMode } from '../../src/tenancy/tenancy-mode.ts';

function documentCache(
  clock: Clock,
  changes: DocumentChanges,
  { ttl = 5_000, bytes = 1 << 20, recentTTL = 0, cacheable = [200] } = {},
) {
  return createDocumentCache<UpstreamResponse>({
    ttl,
    recentTTL,
    maxBytes: bytes,
    fetches: { running: 8, waiting: 256 },
    sizeOf: ({ body }) => body.length,
    isCacheable: ({ status }) => cacheable.includes(status),
    changes,
    clock,
    telemetry: noTelemetry,
  });
}

export function discoveryDocuments(fetcher: UpstreamFetcher, mode: TenancyMode, clock: Clock, ttl = 5_000) {
  const shared = createProcessCache({ clock, longestLife: ttl });
  const changes = new DocumentChanges({ shared, period: ttl, clock, logger: silentLogger });
  const cache = documentCache(clock, changes, { ttl });
  const systemCache = documentCache(clock, changes, { ttl, recentTTL: 1_000, cacheable: [200, 404] });
  const system = new SystemDiscovery({ fetcher, cache: systemCache, clock, logger: silentLogger, ttl });
  return {
    cache,
    documents: new DiscoveryDocuments({ fetcher, cache, mode, system }),
    system,
    changed: (owner: string | undefined) => changes.changed(owner),
  };
}
