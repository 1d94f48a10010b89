/**
 * A timer for somebody else's silence. Timers fire before what has arrived is read: whoever was too busy to look would find the
 * time over and the answer there at once, and take it for silence. So what has arrived is read first.
 * https://nodejs.org/en/learn/asynchronous-work/event-loop-timers-and-nexttick
 */
import type { Clock, Timer } from './clock.ts';

/**
 * Runs `action` once, after `milliseconds` and a look at what has arrived by then. `cancel` counts until the action runs.
 */
export function afterLook(clock: Clock, milliseconds: number, action: () => void): Timer {
  let immediate: NodeJS.Immediate | undefined;
  const timer = clock.after(milliseconds, () => {
    immediate = setImmediate(action);
  });
  return {
    cancel() {
      timer.cancel();
      clearImmediate(immediate);
    },
  };
}
