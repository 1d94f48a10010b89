/**
 * Stops requests to a store that has failed: after a failure there are none for a pause, then one is tried,
 * and the first response closes the circuit again.
 */
import type { Clock } from '../lib/clock.ts';

export interface CircuitBreakerOptions {
  /** Milliseconds without a request after a failure. */
  readonly pause: number;
  readonly clock: Clock;
  onOpen(problem: string): void;
  onClose(): void;
}

export interface CircuitBreaker {
  /** @returns whether the caller may send its request; while the circuit is open, one caller per pause may */
  enter(): boolean;
  succeeded(): void;
  failed(problem: string): void;
  /** The last failure; undefined while the circuit is closed. */
  readonly problem: string | undefined;
}

export function createCircuitBreaker({
  pause,
  clock,
  onOpen,
  onClose,
}: CircuitBreakerOptions): CircuitBreaker {
  let problem: string | undefined;
  let retryAt = 0;
  return {
    enter() {
      if (problem === undefined) return true;
      const now = clock.now();
      if (now < retryAt) return false;
      retryAt = now + pause;
      return true;
    },
    succeeded() {
      if (problem === undefined) return;
      problem = undefined;
      onClose();
    },
    failed(reason) {
      const wasClosed = problem === undefined;
      problem = reason;
      retryAt = clock.now() + pause;
      if (wasClosed) onOpen(reason);
    },
    get problem() {
      return problem;
    },
  };
}
