/** A clock that the test advances: timers run in order when their time has come. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Timer } from '../../src/lib/clock.ts';

export interface FakeClock extends Clock {
  advance(milliseconds: number): void;
  /** The number of timers that have neither run nor been cancelled. */
  readonly pending: number;
  /** Milliseconds until the next timer; Infinity if there is none. */
  readonly untilNext: number;
}

/**
 * @param start milliseconds since the epoch; by default the current time, for tokens that real issuers sign
 */
export function createFakeClock(start: number = Date.now()): FakeClock {
  let now = start;
  const timers = new Map<Timer, { readonly at: number; readonly action: () => void }>();
  return {
    now: () => now,
    monotonic: () => now,
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

/** Lets time pass, from timer to timer, until the promise is settled. */
export async function passUntil<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  settled.catch(() => {});
  while (!isSettled) {
    await nextTurn();
    if (!isSettled && clock.pending > 0) clock.advance(clock.untilNext);
  }
  return promise;
}
