/**
 * Work of which one replica is in charge: the one that holds the lease runs it soon after each change, and
 * periodically. If it loses the lease during a run, the run is to end before its next change.
 */
import { Backoff } from '../../lib/backoff.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import { LEASE_RENEWAL, LEASE_STANDBY, type Lease } from './lease.ts';

/** Milliseconds after a change: several that follow each other cause one run. */
const DEBOUNCE = 100;
/** After a run the next one waits this many times its duration, however often there are changes. */
const REST = 3;
/** Milliseconds of the longest rest. */
const LONGEST_REST = 30_000;
const RETRY = { first: 1_000, longest: 60_000 };

export interface LeaderLoopOptions {
  readonly lease: Lease;
  /**
   * Never rejects.
   *
   * @param signal aborted if another replica is in charge now, or the loop is stopped
   * @returns false if something failed: the run is repeated, later each time
   */
  readonly run: (signal: AbortSignal) => Promise<boolean>;
  /** Approximate milliseconds from the end of one run to the start of the next without a change. */
  readonly interval: number;
  readonly onLeaseChange: (held: boolean) => void;
  /** The lease could not be held or released. */
  readonly onLeaseFailure: (error: unknown) => void;
  /** Milliseconds after a failed run: doubled with each failure in a row. */
  readonly retry?: { readonly first: number; readonly longest: number };
  readonly clock: Clock;
  readonly random: Random;
}

export class LeaderLoop {
  readonly #options: LeaderLoopOptions;
  readonly #backoff: Backoff;
  #running: { readonly ending: AbortController; readonly ended: Promise<void> } | undefined;
  #beating: Promise<void> | undefined;
  #timer: Timer | undefined;
  #held = false;
  /** Milliseconds since the epoch. */
  #dueAt: number;
  /** Likewise: no change is followed by a run before. */
  #restsUntil = 0;
  #wokenDuringRun = false;
  #isStopped = false;

  constructor(options: LeaderLoopOptions) {
    this.#options = options;
    this.#backoff = new Backoff({ ...(options.retry ?? RETRY), random: options.random });
    this.#dueAt = options.clock.now();
  }

  start(): void {
    this.#beat();
  }

  /** Something has changed: the next run begins soon. */
  wake(): void {
    this.#wokenDuringRun = true;
    if (this.#running === undefined) this.#dueSoon();
    if (this.#beating === undefined && !this.#isStopped && this.#timer !== undefined) this.#wait();
  }

  /** Ends a run before its next change, and releases the lease. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#running?.ending.abort(new Error('this process ends its work'));
    await Promise.all([this.#running?.ended, this.#beating]);
    if (this.#held) await this.#ask(() => this.#options.lease.release());
    this.#held = false;
  }

  #dueSoon(): void {
    const now = this.#options.clock.now();
    // The clock may have been set back meanwhile.
    const rest = Math.min(this.#restsUntil - now, LONGEST_REST);
    this.#dueAt = Math.min(this.#dueAt, now + Math.max(DEBOUNCE, rest));
  }

  #beat(): void {
    this.#beating = this.#lookAtLease().finally(() => {
      this.#beating = undefined;
      if (!this.#isStopped) this.#wait();
    });
  }

  async #lookAtLease(): Promise<void> {
    const { lease, clock, onLeaseChange } = this.#options;
    const held = (await this.#ask(() => lease.hold())) ?? false;
    if (held !== this.#held) onLeaseChange(held);
    // What happened while another replica was in charge is not known to this one's last run.
    if (held && !this.#held) this.#dueAt = clock.now();
    this.#held = held;
    if (this.#isStopped) return;
    if (!held) this.#running?.ending.abort(new Error('another replica is in charge now'));
    else if (this.#running === undefined && clock.now() >= this.#dueAt) this.#begin();
  }

  async #ask<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#options.onLeaseFailure(error);
      return undefined;
    }
  }

  #wait(): void {
    const { clock } = this.#options;
    this.#timer?.cancel();
    this.#timer = clock.after(this.#untilNextBeat(), () => this.#beat());
  }

  #untilNextBeat(): number {
    if (!this.#held) return LEASE_STANDBY;
    if (this.#running !== undefined) return LEASE_RENEWAL;
    return Math.min(Math.max(0, this.#dueAt - this.#options.clock.now()), LEASE_RENEWAL);
  }

  #begin(): void {
    const { clock } = this.#options;
    const ending = new AbortController();
    const begun = clock.now();
    this.#wokenDuringRun = false;
    const ended = this.#run(ending.signal).then((pause) => {
      this.#running = undefined;
      const now = clock.now();
      this.#dueAt = now + pause;
      this.#restsUntil = now + REST * Math.max(0, now - begun);
      if (this.#wokenDuringRun) this.#dueSoon();
      if (!this.#isStopped && this.#beating === undefined) this.#wait();
    });
    this.#running = { ending, ended };
  }

  /** @returns milliseconds until the next run */
  async #run(signal: AbortSignal): Promise<number> {
    const { run, interval, random } = this.#options;
    if (!(await run(signal))) return this.#backoff.next();
    this.#backoff.reset();
    // The interval varies, so that replicas that start together do not ask the API server together.
    return interval * (0.9 + 0.2 * random.fraction());
  }
}
