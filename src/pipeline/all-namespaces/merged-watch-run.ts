/**
 * An open watch of several namespaces: reads the watches of the API server, opens again those that end, and
 * writes their merged events. It ends with 410 when the set of permitted namespaces is about to be another:
 * the client lists again, and sees what it may see now.
 */
import type { Readable } from 'node:stream';
import { MergedWatch, type MergedWatchOptions } from '../../access/all-namespaces/merge-watches.ts';
import type { DecidingWatch, WatchDecisions } from '../../access/all-namespaces/watch-decisions.ts';
import type { AccessIndex } from '../../access/ports.ts';
import { StatusError } from '../../errors/status-error.ts';
import { type Clock, runAt, type Timer } from '../../lib/clock.ts';
import { MalformedJSON } from '../../lib/json-scan.ts';
import { LineSplitter } from '../../lib/line-splitter.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import type { Change } from '../../rbac/change.ts';
import type { UpstreamStream } from '../ports.ts';
import type { AnswerStream } from '../response/answer-stream.ts';
import type { WatchLifetimes } from '../response/watch-lifetimes.ts';
import { BlockedParts } from './blocked-parts.ts';
import type { PermittedNamespaces } from './permitted-namespaces.ts';
import { EXPIRED_EVENT } from './response.ts';

/** @param changes parameters of the query in place of the client's */
export type OpenPart = (
  namespace: string,
  changes: Readonly<Record<string, string | undefined>>,
) => Promise<UpstreamStream>;

export interface MergedWatchRunOptions {
  readonly watch: MergedWatchOptions;
  /** All for which the user has permission, those that the API server refuses included. */
  readonly namespaces: readonly string[];
  /** The watches that are open, by namespace. */
  readonly parts: ReadonlyMap<string, UpstreamStream>;
  readonly open: OpenPart;
  /** Ends all requests to the API server. */
  readonly close: () => void;
  /** Of the client's request. */
  readonly timeoutSeconds: number | undefined;
  readonly lifetimes: WatchLifetimes;
  readonly access: AccessIndex;
  readonly permitted: PermittedNamespaces;
  readonly decisions: WatchDecisions;
  /** The user's tenant. */
  readonly tenant: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Of one event; an object at the API server is smaller. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
/** Decisions that the whole set of namespaces counts as. */
const ALL_DECISIONS = 100;
/** Names that may have been gained. Beyond it the whole set is compared. */
const MAX_GAINED = 100;
/** Milliseconds over which the ends of watches are spread after a change. */
const SPREAD = 4_500;
/** Milliseconds. A watch of the API server that ends sooner is not opened again. */
const SHORTEST = 1_000;
/** Milliseconds between two looks at the state of the index, and at roles that are looked up. */
const RECHECK = 60_000;
/** Milliseconds for which events of other namespaces are waited for before a clean end. */
const STRAGGLERS = 1_000;

export class MergedWatchRun implements DecidingWatch {
  readonly #options: MergedWatchRunOptions;
  readonly #merged: MergedWatch;
  readonly #namespaces: ReadonlySet<string>;
  /** The watches that are read. */
  readonly #bodies = new Map<string, Readable>();
  readonly #lines = new Map<string, LineSplitter>();
  readonly #timers = new Set<Timer>();
  /** Those that wait for the client. */
  readonly #blocked = new BlockedParts();
  #ends: (() => void)[] = [];
  #stream: AnswerStream | undefined;
  /** Namespaces of the watch that a change may have taken; `''` for all. */
  readonly #perhapsLost = new Set<string>();
  /** Other namespaces of which a change may have permitted the watch. */
  readonly #perhapsGained = new Set<string>();
  #isExpiring = false;
  #isFinishing = false;

  constructor(options: MergedWatchRunOptions) {
    this.#options = options;
    this.#merged = new MergedWatch(options.parts.keys(), options.watch);
    this.#namespaces = new Set(options.namespaces);
    for (const [name, { body }] of options.parts) this.#bodies.set(name, body);
  }

  start(stream: AnswerStream): void {
    const { access, timeoutSeconds, lifetimes, clock, decisions, permitted, tenant } = this.#options;
    this.#stream = stream;
    access.stopped.addEventListener('abort', this.#onStopped);
    this.#ends = [
      decisions.follow(permitted.concerns, tenant, this),
      () => access.stopped.removeEventListener('abort', this.#onStopped),
      lifetimes.begin(timeoutSeconds, () => this.#finish()),
      this.#blocked.follow(stream, clock, () => this.#heldBytes),
    ];
    this.#recheckLater();
    for (const [name, body] of this.#bodies) void this.#read(name, body);
    // The index may have changed while the watches were opened.
    this.#compare();
    if (access.stopped.aborted) this.#onStopped();
  }

  /** Idempotent. */
  stop(): void {
    this.#stream = undefined;
    for (const end of this.#ends.splice(0)) end();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#bodies.clear();
    this.#options.close();
  }

  async #read(name: string, body: Readable): Promise<void> {
    const { clock, logger } = this.#options;
    const openedAt = clock.now();
    const lines = new LineSplitter(MAX_LINE_BYTES);
    this.#lines.set(name, lines);
    const isCurrent = () => this.#bodies.get(name) === body;
    try {
      for await (const piece of body) {
        if (!this.#isWritable) await this.#blocked.wait();
        if (!isCurrent() || !Buffer.isBuffer(piece)) return;
        for (const line of lines.take(piece)) this.#take(name, line);
      }
      if (!isCurrent()) return;
      if (lines.isWithinLine) throw new MalformedJSON('it ends within an event');
    } catch (error) {
      if (!isCurrent()) return;
      logger.warn({ error }, 'a watch of all namespaces ends, since the watch of one broke off');
      this.#expireNow();
      return;
    }
    await this.#openAgain(name, clock.now() - openedAt);
  }

  get #isWritable(): boolean {
    return this.#stream?.isWritable === true;
  }

  /** Of the API server's watches, while the client does not read. */
  get #heldBytes(): number {
    let bytes = 0;
    for (const body of this.#bodies.values()) bytes += body.readableLength;
    for (const { heldBytes } of this.#lines.values()) bytes += heldBytes;
    return bytes;
  }

  #take(name: string, line: Buffer): void {
    // Nothing passes of what the user has lost, and no bookmark of a later revision.
    this.decide();
    const { lines, isOver } = this.#merged.take(name, line);
    for (const passed of lines) this.#stream?.write(`${passed.toString('utf8')}\n`);
    if (isOver) this.#stream?.end();
  }

  /** @param lasted milliseconds */
  async #openAgain(name: string, lasted: number): Promise<void> {
    if (this.#isFinishing) return;
    // The connections of an earlier configuration take no new requests.
    if (this.#options.lifetimes.areReplaced) return this.#finish();
    const from = this.#merged.resumeFrom(name);
    if (from === undefined || lasted < SHORTEST) return this.#expireNow();
    const resumed = from !== 'start' && {
      resourceVersion: from.revision,
      resourceVersionMatch: undefined,
      sendInitialEvents: undefined,
    };
    this.#bodies.delete(name);
    try {
      const { status, body } = await this.#options.open(name, { ...resumed });
      if (this.#stream === undefined || status !== 200 || !this.#merged.has(name)) {
        body.destroy();
        return this.#expireNow();
      }
      this.#bodies.set(name, body);
      await this.#read(name, body);
    } catch (error) {
      if (this.#stream !== undefined)
        this.#options.logger.warn(
          { error },
          'a watch of all namespaces ends, since that of one cannot go on',
        );
      this.#expireNow();
    }
  }

  /** What may be gained is looked at together, by each watch at another time. */
  changed(change: Change): void {
    const names = change.kind === 'namespace' ? [change.namespace.name] : change.namespaces;
    for (const name of names)
      if (name === '' || this.#namespaces.has(name)) this.#perhapsLost.add(name);
      else this.#lookLater(name);
  }

  decide(): number {
    if (this.#perhapsLost.size === 0 || this.#stream === undefined) return 0;
    const names = [...this.#perhapsLost];
    this.#perhapsLost.clear();
    if (names.includes('')) {
      this.#compare();
      return ALL_DECISIONS;
    }
    const { permitted } = this.#options;
    const lost = names.filter((name) => !permitted.has(name));
    this.#remove(lost);
    if (lost.length > 0) this.#expire();
    return names.length;
  }

  #lookLater(name: string): void {
    if (this.#isExpiring) return;
    const isPlanned = this.#perhapsGained.size > 0;
    if (this.#perhapsGained.size < MAX_GAINED) this.#perhapsGained.add(name);
    if (!isPlanned) this.#after(this.#options.random.fraction() * SPREAD, () => this.#look());
  }

  #look(): void {
    const names = [...this.#perhapsGained];
    this.#perhapsGained.clear();
    if (names.length >= MAX_GAINED) this.#compare();
    else if (names.some((name) => this.#options.permitted.has(name))) this.#expireNow();
  }

  /** Compares the namespaces of the watch with those that are permitted now. */
  #compare(): void {
    const now = this.#options.permitted.now();
    const lost = now === undefined ? [] : [...this.#namespaces].filter((name) => !now.has(name));
    this.#remove(lost);
    if (now === undefined || lost.length > 0 || now.size !== this.#namespaces.size) this.#expire();
  }

  #remove(lost: readonly string[]): void {
    for (const name of lost) {
      this.#merged.remove(name);
      const body = this.#bodies.get(name);
      this.#bodies.delete(name);
      body?.destroy();
    }
  }

  readonly #onStopped = (): void => this.#expire();

  /** Not at once, since a change may concern the watches of many clients, which all list again. */
  #expire(): void {
    if (this.#isExpiring) return;
    this.#isExpiring = true;
    this.#after(this.#options.random.fraction() * SPREAD, () => this.#expireNow());
  }

  #expireNow(): void {
    this.#stream?.write(EXPIRED_EVENT);
    this.#stream?.end();
  }

  #finish(): void {
    if (this.#isFinishing) return;
    this.#isFinishing = true;
    this.#merged.finish();
    this.#after(STRAGGLERS, () => this.#stream?.end());
  }

  #recheckLater(): void {
    this.#after(RECHECK, () => {
      this.#recheck().then(
        () => this.#recheckLater(),
        (error: unknown) => {
          if (error instanceof StatusError) this.#expire();
          else this.#stream?.fail(error);
        },
      );
    });
  }

  async #recheck(): Promise<void> {
    if (!this.#options.permitted.isInForce()) this.#expire();
    if (await this.#options.permitted.isSameUser()) return;
    this.#compare();
    this.#expire();
  }

  #after(milliseconds: number, action: () => void): void {
    if (this.#stream === undefined) return;
    const { clock } = this.#options;
    const timer = runAt(clock, clock.now() + milliseconds, () => {
      this.#timers.delete(timer);
      action();
    });
    this.#timers.add(timer);
  }
}
