/**
 * Work that many events may cause at once, spread over turns of the event loop: in each turn a bounded part
 * is done, one job of each key (a tenant) after the other. A job that is added again before it runs, runs
 * once.
 */

import type { Clock } from './clock.ts';

export interface TurnQueueOptions<J> {
  /** If it throws, the others run in the next turn. @returns how many steps of work it was */
  readonly run: (job: J) => number;
  /** Of one turn; the last job of a turn may exceed it. */
  readonly stepsPerTurn: number;
  /** Steps differ in what they cost: a turn ends after this time too. Without it only steps count. */
  readonly timeLimit?: { readonly clock: Pick<Clock, 'now'>; readonly milliseconds: number };
  /** Calls back in another turn of the event loop, after pending I/O. */
  readonly nextTurn?: (action: () => void) => void;
}

export class TurnQueue<J> {
  readonly #run: (job: J) => number;
  readonly #stepsPerTurn: number;
  readonly #timeLimit: TurnQueueOptions<J>['timeLimit'];
  readonly #nextTurn: (action: () => void) => void;
  /** The key that is served next is first. */
  readonly #waiting = new Map<string, Set<J>>();
  #left: number;
  #endsAt = 0;
  #isServing = false;
  #isTurnPlanned = false;

  constructor({ run, stepsPerTurn, timeLimit, nextTurn = setImmediate }: TurnQueueOptions<J>) {
    this.#run = run;
    this.#stepsPerTurn = stepsPerTurn;
    this.#timeLimit = timeLimit;
    this.#nextTurn = nextTurn;
    this.#left = stepsPerTurn;
  }

  /** Runs the job: at once if this turn has room for it, else in a later one. */
  add(key: string, job: J): void {
    const jobs = this.#waiting.get(key);
    if (jobs === undefined) this.#waiting.set(key, new Set([job]));
    else jobs.add(job);
    this.#serve();
  }

  #serve(): void {
    // A job may add others.
    if (this.#isServing) return;
    this.#isServing = true;
    const isNewTurn = this.#left === this.#stepsPerTurn;
    if (isNewTurn && this.#timeLimit !== undefined)
      this.#endsAt = this.#timeLimit.clock.now() + this.#timeLimit.milliseconds;
    try {
      for (let job = this.#next(); job !== undefined; job = this.#next())
        this.#left -= Math.max(1, this.#run(job));
    } finally {
      this.#isServing = false;
      if (this.#left < this.#stepsPerTurn || this.#waiting.size > 0) this.#planTurn();
    }
  }

  /** @returns undefined if nothing waits, or if this turn has no room for it */
  #next(): J | undefined {
    if (this.#left <= 0 || this.#isOver()) return undefined;
    for (const [key, jobs] of this.#waiting) {
      this.#waiting.delete(key);
      for (const job of jobs) {
        jobs.delete(job);
        if (jobs.size > 0) this.#waiting.set(key, jobs);
        return job;
      }
    }
    return undefined;
  }

  #isOver(): boolean {
    return this.#timeLimit !== undefined && this.#timeLimit.clock.now() >= this.#endsAt;
  }

  #planTurn(): void {
    if (this.#isTurnPlanned) return;
    this.#isTurnPlanned = true;
    this.#nextTurn(() => {
      this.#isTurnPlanned = false;
      this.#left = this.#stepsPerTurn;
      this.#serve();
    });
  }
}
