/**
 * Waits for a condition instead of a fixed time: the condition is evaluated every few milliseconds, and the
 * time limit of the test runner ends a wait that is in vain.
 */
import { setTimeout as pause } from 'node:timers/promises';

/** An error that `condition` throws counts as "not yet". */
export async function eventually(condition: () => boolean | Promise<boolean>) {
  for (;;) {
    try {
      if (await condition()) return;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
    }
    await pause(5);
  }
}
