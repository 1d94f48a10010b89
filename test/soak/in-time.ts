/** Waits for a condition that a leak would keep from ever being true: then the soak test fails. */
import { setTimeout as pause } from 'node:timers/promises';

const TIMEOUT = 60_000;
const INTERVAL = 20;

/**
 * @param what the condition in words, for the error
 * @param condition an error that it throws counts as "not yet"
 */
export async function inTime(what: string, condition: () => Promise<boolean>): Promise<void> {
  const until = Date.now() + TIMEOUT;
  let reason = '';
  while (Date.now() < until) {
    try {
      if (await condition()) return;
    } catch (error) {
      reason = `: ${String(error)}`;
    }
    await pause(INTERVAL);
  }
  throw new Error(`not within ${TIMEOUT / 1000} seconds: ${what}${reason}`);
}
