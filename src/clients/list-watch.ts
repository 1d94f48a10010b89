/**
 * Keeps one resource of the RBAC index current: a list, then watches, each from where the last one ended. It
 * trusts no watch without proof: an API server sends bookmarks, and one that does not is listed every minute.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
import type { IndexedResource } from '../api/rbac-v1.ts';
import { STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import { Backoff } from '../lib/backoff.ts';
import { type Clock, pause } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { IndexListReason, Telemetry } from '../lib/telemetry.ts';
import type { UpstreamFetcher, UpstreamStreamer } from '../pipeline/ports.ts';
import type { RBACIndex } from '../rbac/rbac-index.ts';
import { changeIndex } from './change-index.ts';
import { listIntoIndex } from './list-into-index.ts';
import { readCurrentRevision, UnexpectedStatus } from './list-pages.ts';
import { FailureLog, failureOf, ListNeeded } from './list-watch-failure.ts';
import type { MalformedObject, RBACReader } from './read-rbac-object.ts';
import { readEvent, readLines, type WatchEvent } from './watch-events.ts';
import { WatchLiveness } from './watch-liveness.ts';
import { Watchdog } from './watchdog.ts';

const RETRY = { first: 1_000, longest: 30_000 };
/** Milliseconds that a watch lasts before a failure counts as the first one again. */
const STABLE = 10_000;
/** Milliseconds that a watch lasts before another may follow at once. */
const SHORTEST_WATCH = 1_000;

export interface ListWatchOptions {
  readonly resource: IndexedResource;
  /** The path of the list, without a query. */
  readonly path: string;
  readonly reader: RBACReader;
  readonly index: RBACIndex;
  /** Called for each request: a renewed credential has another one. */
  readonly upstream: () => UpstreamFetcher & UpstreamStreamer;
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
  readonly #liveness: WatchLiveness;
  readonly #failures: FailureLog;
  /** Why the resource is listed before it is watched. */
  #listFor: IndexListReason | undefined = 'start';
  #watchdog: Watchdog | undefined;

  constructor(options: ListWatchOptions) {
    this.#options = options;
    this.#backoff = new Backoff({ ...RETRY, random: options.random });
    const apiGroup = options.resource === 'namespaces' ? '' : 'rbac.authorization.k8s.io';
    this.#failures = new FailureLog({ ...options, apiGroup, follower: 'the RBAC index' });
    this.#liveness = new WatchLiveness(options);
  }

  /** Ends after `stop`. It never rejects. */
  async run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        const isListed = this.#listFor !== undefined;
        if (this.#listFor !== undefined) await this.#list(this.#listFor);
        this.#liveness.began();
        await this.#watch(isListed);
        if (this.#liveness.isListDue) this.#listFor = 'no-bookmarks';
        else if (this.#liveness.lasted < SHORTEST_WATCH) await this.#pause();
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

  /** Lists the resource anew if it is beyond the revision: the API server's storage was restored to it. */
  listAnewIfAbove(revision: number): void {
    const { index, resource } = this.#options;
    if ((index.revisionOf(resource) ?? 0) > revision) this.listAnew('restored');
  }

  listAnew(reason: IndexListReason): void {
    this.#listFor ??= reason;
    this.#watchdog?.end(new ListNeeded(reason));
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #list(reason: IndexListReason): Promise<void> {
    const { resource, telemetry } = this.#options;
    telemetry.indexListed(resource, reason);
    this.#liveness.began();
    this.#listFor = undefined;
    const onMalformed = (error: MalformedObject) => this.#failures.mention(error);
    const options = { ...this.#options, onMalformed };
    await listIntoIndex(options, this.#stopping.signal).catch((error: unknown) => {
      this.#listFor ??= reason;
      throw error;
    });
    this.#proved();
  }

  /** Resolves if the API server ends the watch in good order. @param isListed by the list just before */
  async #watch(isListed: boolean): Promise<void> {
    const { upstream, clock } = this.#options;
    const watchdog = new Watchdog(clock, (touchedAt) => this.#liveness.deadline(touchedAt));
    this.#watchdog = watchdog;
    const signal = AbortSignal.any([this.#stopping.signal, watchdog.signal]);
    try {
      if (!isListed) await this.#checkRevision(signal);
      const { status, body } = await upstream().stream({ ...REQUEST, target: this.#target() }, signal);
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

  /**
   * A watch from a revision that the API server has not reached would be silent: a backup was restored.
   * The list also lets the API server's own cache learn of the present revision.
   */
  async #checkRevision(signal: AbortSignal): Promise<void> {
    const { index, resource, path, upstream } = this.#options;
    const reached = index.revisionOf(resource) ?? 0;
    if ((await readCurrentRevision(upstream(), path, signal)) < reached) throw new ListNeeded('restored');
  }

  #target(): string {
    const { path, index, resource } = this.#options;
    const seconds = this.#liveness.seconds();
    return `${path}?watch=1&allowWatchBookmarks=true&resourceVersion=${index.revisionOf(resource)}&timeoutSeconds=${seconds}`;
  }

  #apply(event: WatchEvent): void {
    const { index, resource, reader } = this.#options;
    switch (event.kind) {
      case 'put':
      case 'delete':
        if (changeIndex(index, event.kind, reader.read(resource, event.object))) this.#proved();
        return;
      case 'bookmark':
        if (event.revision < (index.revisionOf(resource) ?? 0)) throw new ListNeeded('restored');
        this.#liveness.bookmarkReceived();
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

  #proved(): void {
    this.#liveness.proved();
    this.#options.onProof();
    this.#failures.recovered();
  }

  /** @returns whether the next attempt follows at once */
  #isPlanned(error: unknown): boolean {
    const { resource, telemetry } = this.#options;
    if (error instanceof Reconnection) return true;
    if (error instanceof ListNeeded) {
      this.#listFor = error.reason;
      if (error.reason === 'no-bookmarks') this.#liveness.bookmarksMissing();
      return error.reason === 'no-bookmarks';
    }
    const failure = failureOf(error);
    if (failure === 'expired') {
      this.#listFor = 'expired';
      return false;
    }
    if (failure === 'garbage') this.#listFor ??= 'garbage';
    if (failure === 'silent') this.#liveness.wasSilent();
    telemetry.indexFailed(resource, failure);
    this.#failures.report(error);
    return false;
  }

  #pause(): Promise<void> {
    if (this.#liveness.lasted >= STABLE) this.#backoff.reset();
    return pause(this.#options.clock, this.#backoff.next(), this.#stopping.signal);
  }
}

const REQUEST = {
  account: STONEGATE_ACCOUNT,
  sender: { kind: 'stonegate' },
  headers: [['Accept', 'application/json']],
} as const;

class Reconnection extends Error {}
