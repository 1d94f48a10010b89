/**
 * Work that many events may cause at once, spread over turns of the event loop: in each turn a bounded part
 * is done, one job of each key (a tenant) after the other. A job that is added again before it runs, runs
 * once.
 */

export interface TurnQueueOptions<J> {
  /** If it throws, the others run in the next turn. @returns how many steps of work it was */
  readonly run: (job: J) => number;
  /** Of one turn; the last job of a turn may exceed it. */
  readonly stepsPerTurn: number;
  /** Calls back in another turn of the event loop, after pending I/O. */
  readonly nextTurn?: (action: () => void) => void;
}

export class TurnQueue<J> {
  readonly #run: (job: J) => number;
  readonly #stepsPerTurn: number;
  readonly #nextTurn: (action: () => void) => void;
  /** The key that is served next is first. */
  readonly #waiting = new Map<string, Set<J>>();
  #left: number;
  #isServing = false;
  #isTurnPlanned = false;

  constructor({ run, stepsPerTurn, nextTurn = setImmediate }: TurnQueueOptions<J>) {
    this.#run = run;
    this.#stepsPerTurn = stepsPerTurn;
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
    if (this.#left <= 0) return undefined;
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
