/**
 * A token bucket: a burst at once, then a steady rate. It is filled when it is read, so no timer runs.
 */

export interface Rate {
  readonly perSecond: number;
  /** Tokens that a full bucket holds. */
  readonly burst: number;
}

export class TokenBucket {
  readonly #rate: Rate;
  #tokens: number;
  #filledAt: number;

  /** @param now milliseconds since the epoch, as for all methods */
  constructor(rate: Rate, now: number) {
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#filledAt = now;
  }

  /** Milliseconds in which one token flows in. */
  get interval(): number {
    return 1_000 / this.#rate.perSecond;
  }

  tryTake(now: number): boolean {
    this.#fill(now);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** For what costs more than was known before: tokens that are not there are owed. */
  spend(now: number, tokens: number): void {
    this.#fill(now);
    this.#tokens -= tokens;
  }

  isFull(now: number): boolean {
    this.#fill(now);
    return this.#tokens >= this.#rate.burst;
  }

  /** The time until now adds no tokens. */
  restart(now: number): void {
    this.#filledAt = now;
  }

  #fill(now: number): void {
    // A clock that was set back takes no tokens.
    const seconds = Math.max(0, now - this.#filledAt) / 1_000;
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + seconds * this.#rate.perSecond);
    this.#filledAt = now;
  }
}
