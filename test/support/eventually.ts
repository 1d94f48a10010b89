/**
 * Waits for a condition instead of for a time: a test asks again every few milliseconds until it is so, and
 * the runner's own time limit ends what never comes.
 */
import { setTimeout as pause } from 'node:timers/promises';

/** An error thrown by `condition` counts as "not yet". */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (;;) {
    try {
      if (await condition()) return;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
    }
    await pause(5);
  }
}
