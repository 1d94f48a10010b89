/**
 * The time of day and timers as a value, so that tests turn the hands themselves and no test sleeps.
 */

/** A started timer; `cancel` is idempotent. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `action` once after `milliseconds`. The timer never keeps the process alive. */
  after(milliseconds: number, action: () => void): Timer;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, action) {
    const timer = setTimeout(action, milliseconds);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
