/**
 * How long a refusal of Stonegate's own rights is waited out before the request is sent once more: an API server that
 * was just started knows no roles for about a tenth of a second.
 */
import type { Clock } from '../lib/clock.ts';

/** Milliseconds. */
export const REFUSAL_PAUSE = 200;

export function pause(clock: Clock, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(milliseconds, resolve);
  });
}
