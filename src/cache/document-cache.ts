/**
 * Documents kept for seconds: bounded in bytes, one fetch per key at a time.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import type { DocumentCache } from '../lib/document-cache.ts';
import { SingleFlight } from '../lib/single-flight.ts';
import type { Telemetry } from '../lib/telemetry.ts';

export interface DocumentCacheOptions<T> {
  /** Milliseconds; zero keeps nothing. */
  readonly ttl: number;
  /** What all documents may take together; a document larger than that is not kept. */
  readonly maxBytes: number;
  /** A document's own size in bytes. */
  readonly sizeOf: (document: T) => number;
  /** Whether a document is fit to be kept: an answer other than 200 is not. */
  readonly keep: (document: T) => boolean;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

interface Kept<T> {
  readonly document: T;
  readonly until: number;
}

export function createDocumentCache<T>(options: DocumentCacheOptions<T>): DocumentCache<T> {
  const { ttl, maxBytes, sizeOf, keep, clock, telemetry } = options;
  const kept = new LRUCache<string, Kept<T>>({
    maxSize: maxBytes,
    // lru-cache takes no size of zero.
    sizeCalculation: ({ document }, key) => sizeOf(document) + key.length + 1,
  });
  const flight = new SingleFlight<T>();

  async function fetch(key: string, load: () => Promise<T>): Promise<T> {
    const askedAt = clock.now();
    const document = await load();
    if (keep(document)) kept.set(key, { document, until: askedAt + ttl });
    return document;
  }

  return {
    async get(key, load) {
      const found = kept.get(key);
      if (found !== undefined && clock.now() < found.until) {
        telemetry.cacheLookup('discovery', 'hit');
        return found.document;
      }
      telemetry.cacheLookup('discovery', 'miss');
      return flight.do(key, () => fetch(key, load));
    },
  };
}
