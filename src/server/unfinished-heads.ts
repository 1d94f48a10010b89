/**
 * Limits how many connections wait for the rest of a request head: Node stores its bytes before anything is
 * known of the client. The connection that has waited longest is closed, whatever its address: a
 * load balancer may give all clients one.
 */

import type { Clock, Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { MAX_UNFINISHED_HEADS } from '../limits/memory-bounds.ts';

/**
 * Milliseconds between two checks of all connections, while there are more of them than may wait: Node
 * reports a head only when it is complete.
 */
const PERIOD = 250;

export interface HeadReader {
  /** Whether bytes of a request head have arrived, but not all of it. */
  readonly readsHead: boolean;
  destroy(): void;
}

export class UnfinishedHeads {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #connections = new Set<HeadReader>();
  /** The one that has waited longest first. */
  readonly #waiting = new Set<HeadReader>();
  #timer: Timer | undefined;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Call with each connection after its TLS handshake. */
  add(connection: HeadReader): void {
    this.#connections.add(connection);
    this.#schedule();
  }

  /** Call when the connection has closed. */
  delete(connection: HeadReader): void {
    this.#connections.delete(connection);
    this.#waiting.delete(connection);
    if (this.#connections.size > MAX_UNFINISHED_HEADS) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): void {
    if (this.#connections.size > MAX_UNFINISHED_HEADS)
      this.#timer ??= this.#clock.after(PERIOD, () => this.#check());
  }

  #check(): void {
    this.#timer = undefined;
    for (const connection of this.#connections)
      if (connection.readsHead) this.#waiting.add(connection);
      else this.#waiting.delete(connection);
    const closed = this.#waiting.size - MAX_UNFINISHED_HEADS;
    if (closed > 0)
      this.#logger.warn(
        { closed },
        'too many request heads are incomplete: the oldest connections are closed',
      );
    for (const connection of [...this.#waiting].slice(0, Math.max(0, closed))) {
      this.delete(connection);
      connection.destroy();
    }
    this.#schedule();
  }
}
