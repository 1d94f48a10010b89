/**
 * Caches documents for seconds. Bounded in bytes, and in concurrent fetches, of which each queue has its own:
 * no owner's requests delay another owner's.
 */

import { LRUCache } from 'lru-cache';
import { cancelled, StatusError } from '../errors/status-error.ts';
import type { Runtime } from '../lib/runtime.ts';
import { CancellableSingleFlight } from '../lib/single-flight.ts';
import { KeyedSemaphore } from '../limits/keyed-semaphore.ts';
import type { DocumentChanges } from './document-changes.ts';

export interface DocumentRequest {
  /** The owner of the document: owners share none. */
  readonly owner: string;
  /**
   * The queue in which the document is fetched; by default the owner's. Two queues share cached documents,
   * but never wait for one fetch.
   */
  readonly queue?: string;
  /** Everything the document depends on beside its owner; an owner's keys must be few. */
  readonly key: string;
  /** False if the document is fetched for each request. */
  readonly reusable: boolean;
}

export interface DocumentCache<T> {
  /**
   * Returns the cached document or loads it. One `load` runs per document at a time, and its signal is
   * aborted when no caller waits any more. Errors are not cached.
   *
   * @param signal aborted when the caller stops waiting
   * @throws StatusError TenantRateExceeded if too many documents are being loaded for the queue
   */
  get(request: DocumentRequest, signal: AbortSignal, load: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

export interface DocumentCacheOptions<T> extends Pick<Runtime, 'clock' | 'telemetry'> {
  /** Milliseconds; 0 disables the cache. */
  readonly ttl: number;
  /** The `ttl` of documents that have changed within `ttl`; 0, the default, caches none of them. */
  readonly recentTTL?: number;
  /** Bounds all documents together; the least recently used are evicted. */
  readonly maxBytes: number;
  /** Bounds of one queue: fetches at once, and how many more may wait. */
  readonly fetches: { readonly running: number; readonly waiting: number };
  /** A document's own size in bytes. */
  readonly sizeOf: (document: T) => number;
  /** Whether a document may be cached: a response other than 200 may not. */
  readonly isCacheable: (document: T) => boolean;
  /**
   * Changes of the owners, shared by all caches of the same documents. Its `period` must be at least
   * `ttl`.
   */
  readonly changes: Pick<DocumentChanges, 'isRecent'>;
}

interface CachedDocument<T> {
  readonly document: T;
  /** The time of its request: later changes are not in it. */
  readonly askedAt: number;
}

/** Bytes that an entry takes beside its document, roughly. */
const ENTRY_BYTES = 256;

export function createDocumentCache<T>(options: DocumentCacheOptions<T>): DocumentCache<T> {
  const { changes, clock, telemetry, recentTTL = 0 } = options;
  const cached = new LRUCache<string, CachedDocument<T>>({
    maxSize: options.maxBytes,
    sizeCalculation: ({ document }, key) => options.sizeOf(document) + 2 * key.length + ENTRY_BYTES,
  });
  const flight = new CancellableSingleFlight<T>(cancelled);
  const { running, waiting } = options.fetches;
  const fetches = new KeyedSemaphore({
    clock,
    permits: Number.POSITIVE_INFINITY,
    permitsPerKey: running,
    queue: Number.POSITIVE_INFINITY,
    queuePerKey: waiting,
    refusal: () =>
      new StatusError(
        'TenantRateExceeded',
        'Too many requests, please try again later: too many documents are being fetched for this tenant',
      ),
  });

  /**
   * @throws StatusError TenantRateExceeded if the queue is full, UpstreamUnavailable if the signal is aborted
   */
  async function limited(queue: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const semaphore = fetches.of(queue);
    if (!(await semaphore.acquire(signal))) throw cancelled(signal);
    try {
      return await work();
    } finally {
      semaphore.release();
    }
  }

  async function fetch(request: DocumentRequest, load: () => Promise<T>): Promise<T> {
    const askedAt = clock.now();
    const document = await load();
    if (options.isCacheable(document)) cached.set(keyOf(request), { document, askedAt });
    return document;
  }

  /** @param ttl the greatest age, in milliseconds */
  function findCached(request: DocumentRequest, ttl: number): T | undefined {
    const found = cached.get(keyOf(request));
    return found !== undefined && clock.now() < found.askedAt + ttl ? found.document : undefined;
  }

  return {
    async get(request, signal, load) {
      const { owner, queue = owner, key, reusable } = request;
      const recent = changes.isRecent(owner);
      const ttl = recent ? Math.min(recentTTL, options.ttl) : options.ttl;
      if (!reusable || (recent && ttl === 0)) return limited(queue, signal, () => load(signal));
      const found = findCached(request, ttl);
      if (found !== undefined) {
        telemetry.cacheLookup('discovery', 'hit');
        return found;
      }
      telemetry.cacheLookup('discovery', 'miss');
      return flight.do(JSON.stringify([queue, owner, key]), signal, (wanted) =>
        limited(queue, wanted, () => fetch(request, () => load(wanted))),
      );
    },
  };
}

const keyOf = ({ owner, key }: DocumentRequest): string => JSON.stringify([owner, key]);
