/**
 * A clock whose hands the test turns: timers run when their time is passed, in order.
 */
import type { Clock, Timer } from '../../src/lib/clock.ts';

export interface FakeClock extends Clock {
  advance(milliseconds: number): void;
  /** Timers not yet run or cancelled. */
  readonly pending: number;
  /** Milliseconds until the next timer; Infinity where there is none. */
  readonly untilNext: number;
}

/**
 * @param start milliseconds since the epoch; by default the time of day, for tokens that real issuers sign
 */
export function createFakeClock(start: number = Date.now()): FakeClock {
  let now = start;
  const timers = new Map<Timer, { readonly at: number; readonly action: () => void }>();
  return {
    now: () => now,
    after(milliseconds, action) {
      const timer: Timer = { cancel: () => void timers.delete(timer) };
      timers.set(timer, { at: now + milliseconds, action });
      return timer;
    },
    advance(milliseconds) {
      now += milliseconds;
      const due = [...timers].filter(([, { at }]) => at <= now).sort(([, a], [, b]) => a.at - b.at);
      for (const [timer, { action }] of due) if (timers.delete(timer)) action();
    },
    get pending() {
      return timers.size;
    },
    get untilNext() {
      return Math.min(...[...timers.values()].map(({ at }) => at - now));
    },
  };
}
