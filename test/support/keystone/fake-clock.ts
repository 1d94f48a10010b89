/**
 * A clock that a test turns itself; timers run when the hands pass them.
 */
import type { Clock } from '../../../src/lib/clock.ts';

export interface FakeClock extends Clock {
  /** Moves on by so many milliseconds. */
  advance(milliseconds: number): void;
  /** How many timers have been set and neither run nor cancelled. */
  readonly pending: number;
}

/** @param start milliseconds since the epoch */
export function createFakeClock(start = Date.parse('2026-11-21T01:00:00Z')): FakeClock {
  let now = start;
  let timers: { readonly at: number; readonly action: () => void }[] = [];
  return {
    now: () => now,
    after(milliseconds, action) {
      const timer = { at: now + milliseconds, action };
      timers.push(timer);
      return {
        cancel() {
          timers = timers.filter((each) => each !== timer);
        },
      };
    },
    advance(milliseconds) {
      now += milliseconds;
      const due = timers.filter((timer) => timer.at <= now);
      timers = timers.filter((timer) => timer.at > now);
      for (const { action } of due) action();
    },
    get pending() {
      return timers.length;
    },
  };
}
