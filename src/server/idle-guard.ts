/**
 * Closes a kept HTTP/1 connection on which no request begins for too long. Node's own `keepAliveTimeout` would stop a timer
 * and start another for each request. A head that has begun is not idle: `headersTimeout` ends it where it is not finished.
 * RFC 9112 §9.5.
 */
import { type Round, Wait } from '../lib/round.ts';

/**
 * So many times in its patience a connection is looked at, at the most: with thousands of them one is always the next. It may
 * be kept for longer by one such part.
 */
const LOOKS = 8;

/** A connection that may be idle. */
export interface Kept {
  /** Bytes received so far; only its growth matters. */
  readonly received: number;
  /** Called once. */
  onIdle(): void;
}

export class IdleGuard extends Wait {
  readonly #round: Round;
  readonly #kept: Kept;
  #received = 0;
  #since = 0;

  /** @param round of the listener; as long as a connection may be idle */
  constructor(round: Round, kept: Kept) {
    super();
    this.#round = round;
    this.#kept = kept;
  }

  /** Nothing is owed any more. */
  begin(): void {
    this.unlink();
    this.#received = this.#kept.received;
    this.#since = this.#round.clock.now();
    this.#round.join(this);
  }

  /** A request is there. */
  end(): void {
    this.unlink();
  }

  /** The connection has ended. */
  stop(): void {
    this.unlink();
    if (this.#round.empty) this.#round.stop();
  }

  look(now: number): number {
    const { milliseconds } = this.#round;
    const { received } = this.#kept;
    if (received !== this.#received) {
      this.#received = received;
      this.#since = now;
    }
    const left = this.#since + milliseconds - now;
    if (left > 0) return Math.max(left, milliseconds / LOOKS);
    this.unlink();
    this.#kept.onIdle();
    return milliseconds;
  }
}
