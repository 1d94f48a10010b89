/**
 * Probes a backend until it has responded once. The process starts without waiting for it, and the probe
 * ends with the first success.
 */
import type { Clock, Timer } from './clock.ts';
import { messageOf } from './error-code.ts';
import type { Logger } from './logger.ts';
import type { ReadinessCheck } from './readiness.ts';

/** Milliseconds; each failure doubles the delay. */
const FIRST_PAUSE = 1_000;
const LAST_PAUSE = 60_000;

export interface StartupProbe extends ReadinessCheck {
  start(): void;
  /** Stops probing and logging. */
  stop(): void;
}

export interface StartupProbeOptions {
  readonly name: string;
  /** Rejects if the backend was not reached. */
  readonly contact: () => Promise<void>;
  readonly clock: Clock;
  /** Logs each distinct failure once, and the success. */
  readonly logger: Logger;
}

export function createStartupProbe({ name, contact, clock, logger }: StartupProbeOptions): StartupProbe {
  let reason: string | undefined = 'not reached yet';
  let pause = FIRST_PAUSE;
  let stopped = false;
  let timer: Timer | undefined;

  function failed(error: unknown): void {
    // A probe that is cancelled at shutdown reveals nothing about the backend.
    if (stopped) return;
    const said = reason;
    reason = messageOf(error);
    if (reason !== said) logger.warn({ backend: name, error }, 'a backend is not reached yet');
    timer = clock.after(pause, start);
    pause = Math.min(pause * 2, LAST_PAUSE);
  }

  function start(): void {
    contact().then(() => {
      if (stopped) return;
      reason = undefined;
      logger.info({ backend: name }, 'the backend was reached');
    }, failed);
  }

  return {
    name,
    start,
    stop() {
      stopped = true;
      timer?.cancel();
    },
    notReadyBecause: () => reason,
  };
}
