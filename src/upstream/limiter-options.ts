/**
 * What a limiter is made with.
 */
import type { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';

export interface QueueBounds {
  readonly requests: number;
  readonly bytes: number;
}

export interface LimiterOptions {
  readonly clock: Clock;
  /** Of all keys together. */
  readonly slots: number;
  readonly slotsPerKey: number;
  /** Of each key. All queues together hold at most `QUEUES` times as much. */
  readonly queue: QueueBounds;
  /** Milliseconds that a request waits at most. */
  readonly queueTimeout: number;
  /**
   * Slots that each key gets back at once although a connection was closed, and how many per second after these: a new
   * connection costs the API server a TLS handshake.
   */
  readonly closings: { readonly burst: number; readonly perSecond: number };
  /** @returns what a request is refused with if the queue is full */
  readonly full: (key: string) => StatusError;
  /** @returns what a request is refused with that has waited too long */
  readonly tooLate: (key: string) => StatusError;
}
