/**
 * Caches documents for seconds. Bounded in bytes, of which each owner has its own share, and in concurrent
 * fetches, of which each queue has its own: no owner's requests evict or delay another owner's documents.
 */
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { DocumentCache, DocumentRequest } from '../lib/document-cache.ts';
import { KeyedSemaphore } from '../lib/keyed-semaphore.ts';
import { UNBOUNDED } from '../lib/semaphore.ts';
import { CancellableSingleFlight } from '../lib/single-flight.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import type { DocumentChanges } from './document-changes.ts';

export interface DocumentCacheOptions<T> {
  /** Milliseconds; 0 disables the cache. */
  readonly ttl: number;
  /** The same for documents that have changed within `ttl`; 0, the default, caches none of them. */
  readonly recentTTL?: number;
  /** Of all documents; if that is full, no more are cached until some have expired. */
  readonly maxBytes: number;
  /** Of one owner's documents; the owner's oldest are evicted. A larger document is not cached. */
  readonly ownerBytes: number;
  /** Of one queue: fetches at once, and how many more may wait. */
  readonly fetches: { readonly running: number; readonly waiting: number };
  /** A document's own size in bytes. */
  readonly sizeOf: (document: T) => number;
  /** Whether a document may be cached: a response other than 200 may not. */
  readonly isCacheable: (document: T) => boolean;
  /** Of the owners, shared by all caches of the same documents. Its `period` must be at least `ttl`. */
  readonly changes: Pick<DocumentChanges, 'isRecent'>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

interface CachedDocument<T> {
  readonly document: T;
  readonly version: string;
  readonly size: number;
  /** The time of its request: later changes are not in it. */
  readonly askedAt: number;
}

interface Share<T> {
  bytes: number;
  /** Oldest first. */
  readonly documents: Map<string, CachedDocument<T>>;
}

/** Of an entry beside its document, roughly. */
const ENTRY_BYTES = 256;

export function createDocumentCache<T>(options: DocumentCacheOptions<T>): DocumentCache<T> {
  const { changes, clock, telemetry, recentTTL = 0 } = options;
  const cached = new DocumentStore<T>(options);
  const flight = new CancellableSingleFlight<T>(cancelled);
  const { running, waiting } = options.fetches;
  const fetches = new KeyedSemaphore({
    clock,
    permits: Number.POSITIVE_INFINITY,
    permitsPerKey: running,
    queue: UNBOUNDED,
    queuePerKey: { ...UNBOUNDED, requests: waiting },
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
    if (!(await semaphore.acquire(0, signal))) throw cancelled(signal);
    try {
      return await work();
    } finally {
      semaphore.release();
    }
  }

  async function fetch(request: DocumentRequest, load: () => Promise<T>): Promise<T> {
    const askedAt = clock.now();
    const document = await load();
    if (options.isCacheable(document)) cached.set(request, document, askedAt);
    return document;
  }

  return {
    async get(request, signal, load) {
      const { owner, queue = owner, key, version = '', reusable } = request;
      const asked = changes.isRecent(owner);
      const recent = asked instanceof Promise ? await asked : asked;
      const ttl = recent ? Math.min(recentTTL, options.ttl) : options.ttl;
      if (!reusable || (recent && ttl === 0)) return limited(queue, signal, () => load(signal));
      const found = cached.get(request, ttl);
      if (found !== undefined) {
        telemetry.cacheLookup('discovery', 'hit');
        return found;
      }
      telemetry.cacheLookup('discovery', 'miss');
      return flight.do(JSON.stringify([queue, owner, key, version]), signal, (wanted) =>
        limited(queue, wanted, () => fetch(request, () => load(wanted))),
      );
    },
  };
}

class DocumentStore<T> {
  readonly #options: DocumentCacheOptions<T>;
  readonly #shares = new Map<string, Share<T>>();
  #bytes = 0;

  constructor(options: DocumentCacheOptions<T>) {
    this.#options = options;
  }

  /** @param ttl the greatest age, in milliseconds */
  get({ owner, key, version = '' }: DocumentRequest, ttl: number): T | undefined {
    const found = this.#shares.get(owner)?.documents.get(key);
    if (found === undefined || found.version !== version) return undefined;
    return this.#options.clock.now() < found.askedAt + ttl ? found.document : undefined;
  }

  set({ owner, key, version = '' }: DocumentRequest, document: T, askedAt: number): void {
    const { sizeOf, ownerBytes, maxBytes } = this.#options;
    const size = sizeOf(document) + 2 * (key.length + version.length) + ENTRY_BYTES;
    if (size > ownerBytes) return;
    this.#dropExpired();
    const share = this.#shares.get(owner) ?? { bytes: 0, documents: new Map<string, CachedDocument<T>>() };
    this.#drop(share, key);
    for (const oldest of share.documents.keys()) {
      if (share.bytes + size <= ownerBytes) break;
      this.#drop(share, oldest);
    }
    if (this.#bytes + size > maxBytes) return;
    share.documents.set(key, { document, version, size, askedAt });
    share.bytes += size;
    this.#bytes += size;
    this.#shares.set(owner, share);
  }

  #dropExpired(): void {
    const tooOld = this.#options.clock.now() - this.#options.ttl;
    for (const [owner, share] of this.#shares) {
      for (const [key, { askedAt }] of share.documents) if (askedAt <= tooOld) this.#drop(share, key);
      if (share.documents.size === 0) this.#shares.delete(owner);
    }
  }

  #drop(share: Share<T>, key: string): void {
    const dropped = share.documents.get(key);
    if (dropped === undefined) return;
    share.documents.delete(key);
    share.bytes -= dropped.size;
    this.#bytes -= dropped.size;
  }
}

/** The error's text is for the log: its client has left. */
function cancelled({ reason }: AbortSignal): StatusError {
  return new StatusError('UpstreamUnavailable', 'the client has cancelled the request', { cause: reason });
}
