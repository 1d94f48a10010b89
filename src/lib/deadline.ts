/**
 * A timer for a moment of the calendar, however far away: the machine's own timers count at most 24 days, and they do
 * not notice when a clock is set or a machine was asleep.
 */
import type { Clock, Timer } from './clock.ts';

/** Milliseconds after which the clock is looked at again. */
const LONGEST_WAIT = 3_600_000;

/**
 * Runs `action` once, as soon as the clock shows `moment`; always later than this call, even for a moment that is past.
 *
 * @param moment in milliseconds since the epoch
 */
export function runAt(clock: Clock, moment: number, action: () => void): Timer {
  let timer: Timer;
  const wait = () => {
    const left = Math.max(0, moment - clock.now());
    timer = clock.after(Math.min(left, LONGEST_WAIT), () => (clock.now() < moment ? wait() : action()));
  };
  wait();
  return { cancel: () => timer.cancel() };
}
