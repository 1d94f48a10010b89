/**
 * Keeps a store equal to one resource of the API server: a list, then watches, each from where the last one
 * ended. No watch is trusted without proof: an API server that sends no bookmarks is listed every minute.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */

import { Backoff } from '../lib/backoff.ts';
import { afterPendingIO, pause, type Timer } from '../lib/clock.ts';
import type { Runtime } from '../lib/runtime.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import { failureOf, ListNeeded, logFailure, SILENT } from './informer-failure.ts';
import { INFORMER_FAILED, INFORMER_LISTS, type InformerListReason } from './informer-metrics.ts';
import type { InformerList, InformerStore } from './informer-store.ts';
import {
  listPages,
  MalformedObject,
  pagesOf,
  type ReceivedObject,
  readPage,
  readRevision,
  UnexpectedStatus,
  type WatchEvent,
  watchEvents,
} from './list-watch.ts';
import type { UpstreamFetcher, UpstreamStreamer } from './upstream-ports.ts';

const RETRY = { first: 1_000, longest: 30_000 };
/** Milliseconds that a watch lasts before a failure counts as the first one again. */
const STABLE = 10_000;
/** Milliseconds that a watch lasts before another may follow at once. */
const SHORTEST_WATCH = 1_000;
/** Milliseconds without an event or bookmark after which the connection may be dead. */
export const SILENCE = 90_000;
/** Milliseconds without an event after which a list follows, if the API server sends no bookmarks. */
export const LIST_INTERVAL = 60_000;
/** Seconds after which the API server ends a watch; the actual time is random, up to twice as long. */
const WATCH_SECONDS = 300;
/**
 * Seconds of a watch before the first bookmark: kube-apiserver sends one two seconds before the end of a
 * watch, but none before its cache has seen an event or a progress notification of etcd.
 */
const FIRST_WATCH_SECONDS = 58;
/** Milliseconds between two log lines about failures: an API server may be down for hours. */
const LOG_INTERVAL = 60_000;
const RECONNECT = new Error('another connection is used');

export interface InformerOptions<T> extends Pick<Runtime, 'clock' | 'logger' | 'random'> {
  /** The informers that belong together; a label of metrics. */
  readonly name: string;
  /** The path of the list, without a query. */
  readonly path: string;
  readonly metadataOnly?: boolean;
  /** @throws MalformedObject if the object has no name or revision */
  readonly read: (object: ReceivedObject) => T;
  readonly store: InformerStore<T>;
  /** Called after each list, event and bookmark. */
  readonly onUpdate?: () => void;
  /** Called for each request: a renewed credential has another one. */
  readonly upstream: () => UpstreamFetcher & UpstreamStreamer;
  readonly telemetry: Pick<Telemetry, 'count'>;
}

export class Informer<T extends { readonly revision: number }> {
  readonly resource: string;
  readonly #options: InformerOptions<T>;
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();
  /** Ends the present watch; the reason says what follows. */
  #watching: AbortController | undefined;
  /** Why the resource is listed before it is watched. */
  #listFor: InformerListReason | undefined = 'start';
  #revision = 0;
  #hasBookmarks = false;
  /** When the list or watch began; this and the times below are in milliseconds since the epoch. */
  #beganAt = 0;
  /** When the last list ended, or the last event or bookmark was received. */
  #receivedAt = 0;
  #provenAt: number | undefined;
  /** When the last complete list was requested, in milliseconds of the monotonic clock. */
  listedAt: number | undefined;
  failingSince: number | undefined;
  #quietUntil = 0;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.resource = options.path.slice(options.path.lastIndexOf('/') + 1);
    this.#backoff = new Backoff({ ...RETRY, random: options.random });
  }

  /** When the store was last known to be complete: the request of a list, an event or a bookmark. */
  get provenAt(): number | undefined {
    return this.#provenAt;
  }

  get isIncomplete(): boolean {
    return this.#options.store.isIncomplete === true;
  }

  /** Ends after `stop`. It never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        if (this.#isListDue) this.#listFor ??= 'no-bookmarks';
        const isResumed = this.#listFor === undefined;
        while (this.#listFor !== undefined) await this.#list(this.#listFor);
        await this.#watch(isResumed);
        if (!this.#isListDue && this.#since(this.#beganAt) < SHORTEST_WATCH) await this.#pause();
      } catch (error) {
        if (signal.aborted) return;
        if (!this.#continuesAtOnce(error)) await this.#pause();
      }
    }
  }

  /** Resumes the watch with another connection: the credential has changed. */
  reconnect(): void {
    this.#watching?.abort(RECONNECT);
  }

  listAnew(reason: InformerListReason): void {
    this.#listFor ??= reason;
    this.#watching?.abort(new ListNeeded(reason));
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Milliseconds. */
  #since(time: number): number {
    return this.#options.clock.now() - time;
  }

  get #isListDue(): boolean {
    return !this.#hasBookmarks && this.#since(this.#receivedAt) >= FIRST_WATCH_SECONDS * 1_000;
  }

  async #list(reason: InformerListReason): Promise<void> {
    const { name, store, clock, telemetry } = this.#options;
    telemetry.count(INFORMER_LISTS, { informer: name, resource: this.resource, reason });
    this.#listFor = undefined;
    const [requestedAt, listedAt] = [clock.now(), clock.monotonic()];
    this.#beganAt = requestedAt;
    let list: InformerList<T> | undefined;
    let revision = 0;
    try {
      for await (const page of listPages(pagesOf(this.#options, this.#stopping.signal))) {
        revision ||= readRevision(page.revision);
        list ??= store.beginList(revision);
        list.take(this.#readable(page.items));
      }
      list?.end();
      this.#revision = revision;
      this.listedAt = listedAt;
      this.#proved(requestedAt);
    } catch (error) {
      this.#listFor ??= reason;
      throw error;
    }
  }

  /** An object that cannot be read is left out: another list would contain it too. */
  *#readable(items: readonly ReceivedObject[]): Generator<T> {
    for (const item of items)
      try {
        yield this.#options.read(item);
      } catch (error) {
        if (!(error instanceof MalformedObject)) throw error;
        this.#logFailure(error);
      }
  }

  /** Resolves if the API server ends the watch in good order. */
  async #watch(isResumed: boolean): Promise<void> {
    const { path, metadataOnly, upstream, clock, random } = this.#options;
    this.#beganAt = clock.now();
    const watching = new AbortController();
    this.#watching = watching;
    const timer = this.#startTimer(watching);
    const signal = AbortSignal.any([this.#stopping.signal, watching.signal]);
    try {
      if (isResumed) await this.#checkRevision(signal);
      const seconds = this.#hasBookmarks ? WATCH_SECONDS * (1 + random.fraction()) : FIRST_WATCH_SECONDS;
      const target = `${path}?watch=1&allowWatchBookmarks=true&resourceVersion=${this.#revision}&timeoutSeconds=${Math.floor(seconds)}`;
      for await (const event of watchEvents(upstream(), target, signal, metadataOnly)) this.#apply(event);
    } catch (error) {
      throw watching.signal.aborted ? watching.signal.reason : error;
    } finally {
      this.#watching = undefined;
      timer.cancel();
    }
  }

  /**
   * A watch from a revision that the API server has not reached would be silent: a backup was restored.
   * The list also lets the API server's own cache learn of the present revision.
   */
  async #checkRevision(signal: AbortSignal): Promise<void> {
    const { revision } = readPage(await pagesOf(this.#options, signal)('limit=1'));
    if (readRevision(revision) < this.#revision) throw new ListNeeded('restored');
  }

  /** Ends the watch at the deadline, which moves with each event. */
  #startTimer(watching: AbortController): Timer {
    const { clock } = this.#options;
    let timer: Timer;
    const wait = () => {
      timer = afterPendingIO(clock, Math.max(0, this.#deadline() - clock.now()), () => {
        if (clock.now() < this.#deadline()) wait();
        else watching.abort(this.#hasBookmarks ? SILENT : new ListNeeded('no-bookmarks'));
      });
    };
    wait();
    return { cancel: () => timer.cancel() };
  }

  #deadline(): number {
    return this.#hasBookmarks
      ? Math.max(this.#beganAt, this.#receivedAt) + SILENCE
      : this.#receivedAt + LIST_INTERVAL;
  }

  #apply(event: WatchEvent): void {
    const { store, read } = this.#options;
    if (event.kind === 'bookmark') {
      if (event.revision < this.#revision) throw new ListNeeded('restored');
      this.#hasBookmarks = true;
      store.progress?.(event.revision);
      this.#revision = event.revision;
    } else {
      const object = read(event.object);
      if (object.revision <= this.#revision) {
        if (!this.#isRepeated(event.kind, object)) throw new ListNeeded('disorder');
        return;
      }
      store[event.kind](object);
      this.#revision = object.revision;
    }
    this.#proved(this.#options.clock.now());
  }

  /** Whether an event of a past revision is a repetition; otherwise the watch has missed something. */
  #isRepeated(kind: 'put' | 'delete', object: T): boolean {
    const stored = this.#options.store.revisionOf(object);
    if (kind === 'delete') return stored === undefined || stored > object.revision;
    return stored !== undefined && stored >= object.revision;
  }

  #proved(at: number): void {
    const { clock, logger, name: informer, onUpdate } = this.#options;
    this.#provenAt = at;
    this.#receivedAt = clock.now();
    if (this.failingSince !== undefined) {
      this.failingSince = undefined;
      this.#quietUntil = 0;
      logger.info({ informer, resource: this.resource }, 'informer: the API server is watched again');
    }
    onUpdate?.();
  }

  /** @returns whether the next attempt follows without a pause */
  #continuesAtOnce(error: unknown): boolean {
    if (error === RECONNECT) return true;
    if (error instanceof ListNeeded) {
      this.#listFor ??= error.reason;
      return error.reason === 'no-bookmarks';
    }
    if (error instanceof UnexpectedStatus && error.status === 410 && this.#listFor === undefined) {
      this.#listFor = 'expired';
      return false;
    }
    const failure = failureOf(error);
    if (failure === 'garbage') this.#listFor ??= 'garbage';
    // Requests wait for what the watch has missed; an API server that is gone is not overloaded by attempts.
    if (failure === 'unreachable' && this.#listFor === undefined) this.#backoff.reset();
    // After a second silence bookmarks may have ceased for good.
    if (failure === 'silent') this.#hasBookmarks = this.#since(this.#receivedAt) < 2 * SILENCE;
    const { name: informer, telemetry } = this.#options;
    telemetry.count(INFORMER_FAILED, { informer, resource: this.resource, failure });
    this.failingSince ??= this.#options.clock.now();
    this.#logFailure(error);
    return false;
  }

  #logFailure(error: unknown): void {
    const { clock, logger, name, path } = this.#options;
    if (clock.now() < this.#quietUntil) return;
    this.#quietUntil = clock.now() + LOG_INTERVAL;
    logFailure(logger, { informer: name, path, resource: this.resource }, error);
  }

  #pause(): Promise<void> {
    if (this.#since(this.#beganAt) >= STABLE) this.#backoff.reset();
    return pause(this.#options.clock, this.#backoff.next(), this.#stopping.signal);
  }
}
