/**
 * Remembers that a store has failed, so that not each request waits for it anew: after a failure nobody asks for
 * a moment, then one tries, and the first answer ends it.
 */
import type { Clock } from '../lib/clock.ts';

export interface CircuitOptions {
  /** How long nobody asks after a failure, in milliseconds. */
  readonly pause: number;
  readonly clock: Clock;
  onOpen(problem: string): void;
  onClose(): void;
}

export interface Circuit {
  /** Whether to ask. True for one caller at a time while the circuit is open. */
  enter(): boolean;
  succeeded(): void;
  failed(problem: string): void;
  /** What failed last, while it has not been answered. */
  readonly problem: string | undefined;
}

export function createCircuit({ pause, clock, onOpen, onClose }: CircuitOptions): Circuit {
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
