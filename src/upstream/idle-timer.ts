/**
 * Notices that nothing has happened for a while. One timer serves any number of touches: it looks at the clock
 * when it fires and waits out what is left, since arming a timer per chunk would cost more than the chunk.
 */
import type { Clock, Timer } from '../lib/clock.ts';

export interface IdleTimer {
  /** Something happened: the wait begins anew. */
  touch(): void;
  /** The silence is our own doing (backpressure) and does not count until `release`. */
  hold(): void;
  release(): void;
  stop(): void;
}

/**
 * Starts at once.
 *
 * @param milliseconds of silence after which `onIdle` is called, once
 */
export function startIdleTimer(clock: Clock, milliseconds: number, onIdle: () => void): IdleTimer {
  let last = clock.now();
  let held = false;
  let timer: Timer = clock.after(milliseconds, check);

  function check(): void {
    const left = held ? milliseconds : last + milliseconds - clock.now();
    if (left <= 0) onIdle();
    else timer = clock.after(left, check);
  }

  function touch(): void {
    last = clock.now();
  }

  return {
    touch,
    hold() {
      held = true;
    },
    release() {
      held = false;
      touch();
    },
    stop() {
      timer.cancel();
    },
  };
}
