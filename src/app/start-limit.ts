/**
 * Ends a start that hangs, so that whoever started the process starts it anew: a file on a network share that is gone, or a
 * pipe that nobody reads, never opens and never fails either. It says at which step, which a probe that ends it would not.
 */
import { afterPendingIO, type Clock, type Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

/**
 * Milliseconds for each step. Less than the liveness probe of Kubernetes waits by its defaults: that would end a process whose
 * configuration cannot be read without a word.
 */
const LIMIT = 15_000;

export interface StartLimitOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the process whatever it is at, as `exitAtOnce` does. */
  readonly exit: () => void;
}

export class StartLimit {
  readonly #options: StartLimitOptions;
  #timer: Timer | undefined;
  #step = 'starting';

  constructor(options: StartLimitOptions) {
    this.#options = options;
  }

  /** What is waited for, in words such as `opening audit.file -`. */
  get step(): string {
    return this.#step;
  }

  /** The step before has ended. */
  begin(step: string): void {
    const { clock, logger, exit } = this.#options;
    this.end();
    this.#step = step;
    this.#timer = afterPendingIO(clock, LIMIT, () => {
      logger.error({}, `Stonegate could not be started: ${step} took longer than ${LIMIT / 1_000} seconds`);
      exit();
    });
  }

  /** Nothing is waited for any more. */
  end(): void {
    this.#timer?.cancel();
  }
}

/**
 * Ends this process with exit code 1. `process.exit` waits for the thread that hangs, and to the first process of a container
 * its own signals do nothing: but it can become a program that ends by itself, which no other thread outlives.
 * https://man7.org/linux/man-pages/man2/execve.2.html
 */
export function exitAtOnce(): void {
  process.execve?.(process.execPath, [process.execPath, '--eval', 'process.exit(1)'], {});
  // Where a system has no such call.
  process.exit(1);
}
