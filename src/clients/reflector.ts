/**
 * Follows the objects of one resource: a list, then a watch, and a list again after a minute at the latest. A
 * list proves what a watch cannot: an API server may send no bookmarks, and a restored backup leaves a watch
 * silent. https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
import { STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import { Backoff } from '../lib/backoff.ts';
import { type Clock, pause } from '../lib/clock.ts';
import { isJSONObject } from '../lib/json-object.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { IndexFailure } from '../lib/telemetry.ts';
import type { UpstreamFetcher, UpstreamStreamer } from '../pipeline/ports.ts';
import { listPages, UnexpectedStatus } from './list-pages.ts';
import { FailureLog, failureOf } from './list-watch-failure.ts';
import { ObjectSet, type ObjectSetBounds, type ReadObject } from './object-set.ts';
import { MalformedObject, readRevision, type WrittenObject } from './read-rbac-object.ts';
import { readEvent, readLines, type WatchEvent } from './watch-events.ts';
import { Watchdog } from './watchdog.ts';

/** Milliseconds from one list to the next. */
const LIST_INTERVAL = 60_000;
const RETRY = { first: 1_000, longest: 30_000 };
/** Milliseconds that a watch lasts before another list may follow at once. */
const SHORTEST_WATCH = 1_000;

export interface ReflectorOptions<T> {
  readonly apiGroup: string;
  readonly resource: string;
  /** The path of the list, without a query. */
  readonly path: string;
  /** What follows the API server: a noun for messages. */
  readonly follower: string;
  /**
   * Never throws.
   *
   * @returns undefined if the object is of no interest, or is none
   */
  readonly read: (value: unknown) => T | undefined;
  readonly bounds: ObjectSetBounds;
  /** Called for each request: a renewed credential has another one. */
  readonly upstream: () => UpstreamFetcher & UpstreamStreamer;
  /** The objects have changed, or were proven to be current. */
  readonly onUpdate: () => void;
  readonly onFailure: (failure: IndexFailure | 'expired') => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #backoff: Backoff;
  readonly #failures: FailureLog;
  readonly #stopping = new AbortController();
  #set: ObjectSet<T>;
  #watchdog: Watchdog | undefined;
  /** Milliseconds since the epoch. */
  #provenAt: number | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#backoff = new Backoff({ ...RETRY, random: options.random });
    this.#failures = new FailureLog(options);
    this.#set = new ObjectSet(options.bounds);
  }

  get objects(): readonly T[] {
    return this.#set.values();
  }

  /** When the last complete list was requested, in milliseconds since the epoch; undefined before it. */
  get provenAt(): number | undefined {
    return this.#provenAt;
  }

  /** Ends after `stop`. It never rejects. */
  async run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const beganAt = clock.now();
      try {
        await this.#watch(await this.#list());
        this.#backoff.reset();
        if (clock.now() - beganAt < SHORTEST_WATCH) await pause(clock, SHORTEST_WATCH, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#report(error);
        await pause(clock, this.#backoff.next(), signal);
      }
    }
  }

  /** Lists and watches with another connection: the credential has changed. */
  reconnect(): void {
    this.#watchdog?.end(new ListDue());
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** @returns the revision */
  async #list(): Promise<number> {
    const { upstream, path, bounds, clock, onUpdate } = this.#options;
    const requestedAt = clock.now();
    let next = new ObjectSet<T>(bounds);
    const pages = {
      restart() {
        next = new ObjectSet(bounds);
      },
      take: (items: readonly WrittenObject[]) => {
        for (const item of items) this.#put(next, item);
      },
    };
    const revision = await listPages(upstream, path, pages, this.#stopping.signal);
    this.#set = next;
    this.#provenAt = requestedAt;
    this.#failures.recovered();
    this.#tellOfLeftOut();
    onUpdate();
    return revision;
  }

  /** Resolves when the next list is due. */
  async #watch(revision: number): Promise<void> {
    const { upstream, path, clock } = this.#options;
    const listAt = clock.now() + LIST_INTERVAL;
    const watchdog = new Watchdog(clock, () => ({ at: listAt, error: new ListDue() }));
    this.#watchdog = watchdog;
    const signal = AbortSignal.any([this.#stopping.signal, watchdog.signal]);
    const seconds = LIST_INTERVAL / 1_000;
    const target = `${path}?watch=1&resourceVersion=${revision}&timeoutSeconds=${seconds}`;
    try {
      const { status, body } = await upstream().stream({ ...REQUEST, target }, signal);
      if (status !== 200) {
        body.destroy();
        throw new UnexpectedStatus(status);
      }
      for await (const line of readLines(body, () => {})) this.#apply(readEvent(line));
    } catch (error) {
      if (!(watchdog.signal.reason instanceof ListDue)) throw error;
    } finally {
      this.#watchdog = undefined;
      watchdog.stop();
    }
  }

  #apply(event: WatchEvent): void {
    switch (event.kind) {
      case 'put':
        this.#put(this.#set, event.object);
        break;
      case 'delete':
        this.#set.delete(readObject(event.object));
        break;
      case 'expired':
        throw new UnexpectedStatus(410);
      case 'error':
        throw new Error(`the API server ended the watch: ${event.message}`);
      case 'bookmark':
      case 'unknown':
        return;
    }
    this.#tellOfLeftOut();
    this.#options.onUpdate();
  }

  #put(set: ObjectSet<T>, written: WrittenObject): void {
    let object: ReadObject;
    try {
      object = readObject(written);
    } catch (error) {
      if (!(error instanceof MalformedObject)) throw error;
      // It cannot be told from others: another list would contain it too.
      this.#failures.mention(error);
      return;
    }
    set.put(object, this.#options.read(object.value));
  }

  #tellOfLeftOut(): void {
    const { logger, resource } = this.#options;
    for (const tenant of this.#set.takeLeftOut())
      logger.warn({ resource, tenant }, 'a tenant has too many or too large objects: none of them counts');
  }

  #report(error: unknown): void {
    this.#options.onFailure(failureOf(error));
    this.#failures.report(error);
  }
}

function readObject({ value, text }: WrittenObject): ReadObject {
  const metadata = isJSONObject(value) && isJSONObject(value.metadata) ? value.metadata : {};
  const { name, tenant = '', namespace = '', resourceVersion } = metadata;
  if (typeof name !== 'string' || name === '') throw new MalformedObject('an object has no name');
  if (typeof tenant !== 'string' || typeof namespace !== 'string')
    throw new MalformedObject('an object is in no place');
  readRevision(resourceVersion);
  return { tenant, key: JSON.stringify([tenant, namespace, name]), bytes: text().length, value };
}

const REQUEST = {
  account: STONEGATE_ACCOUNT,
  sender: { kind: 'stonegate' },
  headers: [['Accept', 'application/json']],
} as const;

class ListDue extends Error {}
