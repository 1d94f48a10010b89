/**
 * Ends a start that hangs, so that Kubernetes or systemd restarts the process: opening a file on an
 * unreachable network share, or a pipe without a reader, neither succeeds nor fails. The log names the
 * step, which a liveness probe would not.
 */
import { afterPendingIO, type Clock, type Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

/**
 * Milliseconds for each step. It is less than the default time of a liveness probe, which would end the
 * process without a message.
 */
const LIMIT = 15_000;

export interface StartLimitOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the process even if a thread hangs, as `exitAtOnce` does. */
  readonly exit: () => void;
}

export class StartLimit {
  readonly #options: StartLimitOptions;
  #timer: Timer | undefined;
  #step = 'starting';

  constructor(options: StartLimitOptions) {
    this.#options = options;
  }

  /** The current step, such as `opening audit.file -`. */
  get step(): string {
    return this.#step;
  }

  /** Begins a step, which ends the one before. */
  begin(step: string): void {
    const { clock, logger, exit } = this.#options;
    this.end();
    this.#step = step;
    this.#timer = afterPendingIO(clock, LIMIT, () => {
      logger.error({}, `Stonegate could not be started: ${step} took longer than ${LIMIT / 1_000} seconds`);
      exit();
    });
  }

  /** The start has ended. */
  end(): void {
    this.#timer?.cancel();
  }
}

/**
 * Ends this process with exit code 1. `process.exit` would wait for the thread that hangs, and signals that
 * the first process of a container sends to itself have no effect. So the process is replaced by a program
 * that ends at once: execve ends all other threads.
 * https://man7.org/linux/man-pages/man2/execve.2.html
 */
export function exitAtOnce(): void {
  process.execve?.(process.execPath, [process.execPath, '--eval', 'process.exit(1)'], {});
  // Some systems have no execve.
  process.exit(1);
}
