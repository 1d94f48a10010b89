/**
 * Keeps one resource of the RBAC index current: a list, then watches, each from where the last one ended. It
 * trusts no watch without proof: an API server sends bookmarks, and one that does not is listed every minute.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { IndexedResource, StoredObject } from '../api/rbac-v1.ts';
import { STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import { Backoff } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { IndexListReason, Telemetry } from '../lib/telemetry.ts';
import type { UpstreamFetcher, UpstreamStreamer } from '../pipeline/ports.ts';
import type { RBACIndex } from '../rbac/rbac-index.ts';
import { CatchUp } from './catch-up.ts';
import { listPages, UnexpectedStatus } from './list-pages.ts';
import { FailureLog, failureOf, ListNeeded, WatchSilent } from './list-watch-failure.ts';
import { MalformedObject, type RBACReader, type WrittenObject } from './read-rbac-object.ts';
import { readEvent, readLines, type WatchEvent } from './watch-events.ts';
import { type Deadline, Watchdog } from './watchdog.ts';

/** Milliseconds in which a watch proves itself; kube-apiserver sends a bookmark every minute. */
export const FIRST_PROOF = 75_000;
/** Milliseconds between two lists, if the API server sends no bookmarks. */
export const LIST_INTERVAL = 60_000;
/** Milliseconds without a byte, if the API server sends bookmarks. */
export const SILENCE = 90_000;
/** Seconds after which the API server ends a watch; by chance, up to twice as long. */
const WATCH_SECONDS = 300;
/** Without bookmarks, since kube-apiserver sends one shortly before the end. */
const PROBING_SECONDS = 58;
const RETRY = { first: 1_000, longest: 30_000 };
/** Milliseconds that a watch lasts before a failure counts as the first one again. */
const STABLE = 10_000;
/** Milliseconds that a watch lasts before another may follow at once. */
const SHORTEST_WATCH = 1_000;
/** A resource with more objects catches up by a short watch. */
const LISTED_AT_ONCE = 2_500;
/** kube-apiserver sends a bookmark two seconds before the end of a watch. */
const SHORT_WATCH_SECONDS = 3;

export interface ListWatchOptions {
  readonly resource: IndexedResource;
  /** Of the list, without a query. */
  readonly path: string;
  readonly reader: RBACReader;
  readonly index: RBACIndex;
  /** Called for each request: a renewed credential has another one. */
  readonly upstream: () => UpstreamFetcher & UpstreamStreamer;
  readonly listedAtOnce?: number;
  /** The resource is complete as of now. */
  readonly onProof: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export class ListWatch {
  readonly #options: ListWatchOptions;
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();
  readonly #catchingUp: CatchUp;
  readonly #failures: FailureLog;
  /** Why the resource is listed before it is watched. */
  #listFor: IndexListReason | undefined = 'start';
  /** Whether the API server sends bookmarks. */
  #bookmarks: 'unknown' | 'sent' | 'missing' = 'unknown';
  /** All in milliseconds since the epoch. */
  #provenAt = 0;
  #watchingSince = 0;
  /** Whether the next watch is to end soon, with a bookmark. */
  #isShort = false;
  #watchdog: Watchdog | undefined;

  constructor(options: ListWatchOptions) {
    this.#options = options;
    this.#backoff = new Backoff({ ...RETRY, random: options.random });
    this.#failures = new FailureLog(options);
    this.#catchingUp = new CatchUp(options.clock, (revision) => this.#proveThrough(revision));
  }

  /** Ends after `stop`. It never rejects. */
  async run(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#stopping.signal.aborted) {
      try {
        if (this.#listFor !== undefined) await this.#list(this.#listFor);
        this.#watchingSince = clock.now();
        await this.#watch();
        if (this.#isListDue()) this.#listFor = 'no-bookmarks';
        else if (clock.now() - this.#watchingSince < SHORTEST_WATCH) await this.#pause();
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        if (!this.#isPlanned(error)) await this.#pause();
      }
    }
  }

  /** Watches on with another connection: the credential has changed. */
  reconnect(): void {
    this.#watchdog?.end(new Reconnection());
  }

  /** Lets the resource prove soon that it is complete through the revision. */
  catchUp(revision: number): void {
    this.#catchingUp.request(revision);
  }

  stop(): void {
    this.#stopping.abort();
    this.#catchingUp.stop();
  }

  #proveThrough(revision: number): void {
    const { index, resource, listedAtOnce = LISTED_AT_ONCE } = this.#options;
    const reached = index.revisionOf(resource);
    if (reached === undefined || reached >= revision) return;
    if (this.#watchdog === undefined) this.catchUp(revision);
    else if (index.countOf(resource) <= listedAtOnce) this.#watchdog.end(new ListNeeded('requested'));
    else if (this.#bookmarks !== 'missing') {
      this.#isShort = true;
      this.reconnect();
    }
  }

  async #list(reason: IndexListReason): Promise<void> {
    const { resource, path, index, upstream, telemetry, clock } = this.#options;
    telemetry.indexListed(resource, reason);
    this.#watchingSince = clock.now();
    let objects: StoredObject[] = [];
    const pages = {
      restart: () => {
        objects = [];
      },
      take: (items: readonly WrittenObject[]) => {
        for (const item of items) this.#readItem(item, objects);
      },
    };
    const revision = await listPages(upstream, path, pages, this.#stopping.signal);
    const steps = index.replaceInSteps(resource, objects, revision);
    while (steps.next().done !== true) await nextTurn();
    this.#listFor = undefined;
    this.#proved();
  }

  /** An object that cannot be read is left out: another list would contain it too. */
  #readItem(item: WrittenObject, objects: StoredObject[]): void {
    const { reader, resource } = this.#options;
    try {
      objects.push(reader.read(resource, item));
    } catch (error) {
      if (!(error instanceof MalformedObject)) throw error;
      this.#failures.mention(error);
    }
  }

  /** Resolves if the API server ends the watch in good order. */
  async #watch(): Promise<void> {
    const { resource, path, index, upstream, clock } = this.#options;
    const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${index.revisionOf(resource)}&timeoutSeconds=${this.#seconds()}`;
    const watchdog = new Watchdog(clock, (touchedAt) => this.#deadline(touchedAt));
    this.#watchdog = watchdog;
    const signal = AbortSignal.any([this.#stopping.signal, watchdog.signal]);
    try {
      const isShort = this.#isShort;
      this.#isShort = false;
      // A consistent list lets the API server's own cache learn of the present revision.
      if (isShort) await upstream().fetch({ ...REQUEST, method: 'GET', target: `${path}?limit=1` }, signal);
      const { status, body } = await upstream().stream({ ...REQUEST, target: `${path}?${query}` }, signal);
      if (status !== 200) {
        body.destroy();
        throw new UnexpectedStatus(status);
      }
      for await (const line of readLines(body, () => watchdog.touch())) this.#apply(readEvent(line));
    } catch (error) {
      throw watchdog.signal.aborted ? watchdog.signal.reason : error;
    } finally {
      this.#watchdog = undefined;
      watchdog.stop();
    }
  }

  #seconds(): number {
    if (this.#isShort) return SHORT_WATCH_SECONDS;
    if (this.#bookmarks === 'missing') return PROBING_SECONDS;
    return WATCH_SECONDS + Math.floor(this.#options.random.fraction() * WATCH_SECONDS);
  }

  #apply(event: WatchEvent): void {
    const { index, resource, reader } = this.#options;
    switch (event.kind) {
      case 'put':
      case 'delete':
        this.#change(event.kind, reader.read(resource, event.object));
        return;
      case 'bookmark':
        this.#bookmarks = 'sent';
        index.progress(resource, event.revision);
        this.#proved();
        return;
      case 'expired':
        throw new ListNeeded('expired');
      case 'error':
        throw new Error(`the API server ended the watch: ${event.message}`);
      case 'unknown':
    }
  }

  #change(kind: 'put' | 'delete', object: StoredObject): void {
    const { index, resource } = this.#options;
    if (object.revision <= (index.revisionOf(resource) ?? 0)) {
      if (!isRepeated(kind, object, index)) throw new ListNeeded('disorder');
      return;
    }
    if (kind === 'put') index.put(object);
    else index.delete(object);
    this.#proved();
  }

  #proved(): void {
    const { clock, onProof } = this.#options;
    this.#provenAt = clock.now();
    onProof();
    this.#failures.recovered();
  }

  #isListDue(): boolean {
    const age = this.#options.clock.now() - this.#provenAt;
    return this.#bookmarks === 'missing' && age >= PROBING_SECONDS * 1_000 - 5_000;
  }

  /** @returns when the watch ends unless something arrives, and how */
  #deadline(touchedAt: number): Deadline {
    switch (this.#bookmarks) {
      case 'sent':
        return { at: touchedAt + SILENCE, error: new WatchSilent() };
      case 'unknown':
        return {
          at: Math.max(this.#provenAt, this.#watchingSince) + FIRST_PROOF,
          error: new ListNeeded('no-bookmarks'),
        };
      case 'missing':
        return { at: this.#provenAt + LIST_INTERVAL, error: new ListNeeded('no-bookmarks') };
    }
  }

  /** @returns whether the next attempt follows at once */
  #isPlanned(error: unknown): boolean {
    const { resource, telemetry } = this.#options;
    if (error instanceof Reconnection) return true;
    if (error instanceof ListNeeded) {
      this.#listFor = error.reason;
      if (error.reason === 'no-bookmarks') this.#bookmarks = 'missing';
      return error.reason === 'no-bookmarks' || error.reason === 'requested';
    }
    const failure = failureOf(error);
    if (failure === 'expired') {
      this.#listFor = 'expired';
      return false;
    }
    if (failure === 'garbage') this.#listFor ??= 'garbage';
    // Bookmarks may have ceased for good.
    if (failure === 'silent') this.#bookmarks = 'unknown';
    telemetry.indexFailed(resource, failure);
    this.#failures.report(error);
    return false;
  }

  #pause(): Promise<void> {
    const { clock } = this.#options;
    if (clock.now() - this.#watchingSince >= STABLE) this.#backoff.reset();
    const { signal } = this.#stopping;
    return new Promise((resolve) => {
      const timer = clock.after(this.#backoff.next(), finish);
      function finish(): void {
        timer.cancel();
        signal.removeEventListener('abort', finish);
        resolve();
      }
      signal.addEventListener('abort', finish);
    });
  }
}

const REQUEST = {
  account: STONEGATE_ACCOUNT,
  sender: { kind: 'stonegate' },
  headers: [['Accept', 'application/json']],
} as const;

class Reconnection extends Error {}

/** Whether an event of a past revision tells nothing new. */
function isRepeated(kind: 'put' | 'delete', object: StoredObject, index: RBACIndex): boolean {
  const known = index.objectsOf(object.tenant).find(object);
  if (kind === 'delete') return known === undefined || known.revision > object.revision;
  return known !== undefined && known.revision >= object.revision;
}
