/**
 * Requests that name a revision above the index's: a resource in which nothing changes stays at its last
 * revision until it is asked. All of them share one look at the API server's present revision: what is above
 * it costs nothing else, and is refused.
 */
import { type Clock, pause } from '../lib/clock.ts';

/** Milliseconds: the event that brings the revision is often on its way. */
const DELAY = 50;
/** Milliseconds between two looks; requests that never cease make them rarer. */
const INTERVAL = { first: 500, longest: 2_000 };
/** Milliseconds without a look after which the interval is the first again. */
const QUIET = 10_000;
/** Milliseconds for which the API server may take to answer a look. */
const TIMEOUT = 3_000;

export interface CatchUpOptions {
  readonly clock: Clock;
  /** The API server's revision now. It may reject. */
  readonly currentRevision: (signal: AbortSignal) => Promise<number>;
  /** Called with revisions that the API server has reached: the resources are to be complete through them. */
  readonly prove: (revision: number) => void;
}

export class CatchUp {
  readonly #options: CatchUpOptions;
  readonly #stopping = new AbortController();
  /** The look that has not begun yet. */
  #next: Promise<number | undefined> | undefined;
  #last: Promise<number | undefined> | undefined;
  #lastAt = Number.NEGATIVE_INFINITY;
  #interval = INTERVAL.first;

  constructor(options: CatchUpOptions) {
    this.#options = options;
  }

  /**
   * Lets the resources prove that they are complete through the revision. It never rejects.
   *
   * @returns false if the API server has not reached the revision; true if it has, or if it does not answer
   */
  async request(revision: number): Promise<boolean> {
    this.#next ??= this.#look();
    const current = await this.#next;
    if (current === undefined) return true;
    if (revision > current) return false;
    this.#options.prove(revision);
    return true;
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** @returns undefined if the API server does not answer */
  async #look(): Promise<number | undefined> {
    await this.#last;
    const { clock } = this.#options;
    const isQuiet = clock.now() - this.#lastAt >= QUIET;
    const wait = Math.max(DELAY, this.#lastAt + this.#interval - clock.now());
    await pause(clock, wait, this.#stopping.signal);
    // A request that comes from now on may name a later revision than this look finds.
    this.#next = undefined;
    this.#interval = isQuiet ? INTERVAL.first : Math.min(INTERVAL.longest, this.#interval * 2);
    this.#lastAt = clock.now();
    this.#last = this.#currentRevision();
    return this.#last;
  }

  async #currentRevision(): Promise<number | undefined> {
    const { clock, currentRevision } = this.#options;
    if (this.#stopping.signal.aborted) return undefined;
    const tooSlow = new AbortController();
    const timer = clock.after(TIMEOUT, () => tooSlow.abort());
    try {
      return await currentRevision(AbortSignal.any([this.#stopping.signal, tooSlow.signal]));
    } catch {
      // The watches report an API server that does not answer.
      return undefined;
    } finally {
      timer.cancel();
    }
  }
}
