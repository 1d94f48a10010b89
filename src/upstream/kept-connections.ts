/**
 * Connections that nobody uses at the moment. The one used last is taken first, so that what is too many grows old and is
 * closed.
 * RFC 9112 §9.3, §9.5.
 */
import type { Clock, Timer } from '../lib/clock.ts';
import type { PooledConnection } from './pooled-connection.ts';

/** Milliseconds; below the 90 s after which a Kubernetes API server closes an idle connection. */
const KEPT = 60_000;
/** What a server's promise to keep a connection is shortened by, for a request may be on its way. */
const PROMISE_MARGIN = 2_000;

export interface Kept {
  readonly connection: PooledConnection;
  /** When it was last used: milliseconds since the epoch, as is the next. */
  readonly since: number;
  readonly until: number;
}

export class KeptConnections {
  readonly #clock: Clock;
  /** The one used last at the end. */
  #kept: Kept[] = [];
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param promised seconds for which the server says it keeps the connection */
  lifeOf(connection: PooledConnection, promised: number | undefined): Kept {
    const life = promised === undefined ? KEPT : Math.min(KEPT, promised * 1_000 - PROMISE_MARGIN);
    const since = this.#clock.now();
    return { connection, since, until: since + life };
  }

  /** Closed where its life is over. */
  keep(kept: Kept): void {
    if (kept.until <= this.#clock.now()) {
      kept.connection.abandon();
      return;
    }
    this.#kept.push(kept);
    this.#timer ??= this.#clock.after(KEPT, this.#letGo);
  }

  /** @returns undefined where there is none that may be used */
  take(): Kept | undefined {
    for (;;) {
      const kept = this.#kept.pop();
      if (kept === undefined) return undefined;
      if (!kept.connection.closed && this.#clock.now() < kept.until) return kept;
      kept.connection.abandon();
    }
  }

  /** It has closed by itself. */
  drop(connection: PooledConnection): void {
    const at = this.#kept.findIndex((kept) => kept.connection === connection);
    if (at !== -1) this.#kept.splice(at, 1);
  }

  /** Closes all of them; none may be kept any more. */
  close(): void {
    this.#timer?.cancel();
    for (const { connection } of this.#kept.splice(0)) connection.abandon();
  }

  /** Closes those that nobody has wanted for long. */
  readonly #letGo = (): void => {
    const now = this.#clock.now();
    const all = this.#kept;
    this.#kept = all.filter(({ since }) => since + KEPT > now);
    for (const { connection, since } of all) if (since + KEPT <= now) connection.abandon();
    const [oldest] = this.#kept;
    this.#timer =
      oldest === undefined ? undefined : this.#clock.after(oldest.since + KEPT - now, this.#letGo);
  };
}
