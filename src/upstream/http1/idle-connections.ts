/**
 * Connections that no request uses. The connection used last is taken first, so that superfluous ones reach
 * the idle timeout and are closed. RFC 9112 §9.3, §9.5.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Connection } from './connection.ts';

export interface IdleConnection {
  readonly connection: Connection;
  /** When it became idle, in milliseconds since the epoch. */
  readonly since: number;
  /** Until when it may be used. */
  readonly until: number;
}

export class IdleConnections {
  readonly #clock: Clock;
  readonly #timeout: number;
  /** The one used last is at the end. */
  #idle: IdleConnection[] = [];
  #timer: Timer | undefined;

  /** @param timeout milliseconds after which an idle connection is closed */
  constructor(clock: Clock, timeout: number) {
    this.#clock = clock;
    this.#timeout = timeout;
  }

  /** @param lifetime milliseconds for which it may be used; the idle timeout at most */
  idleFor(connection: Connection, lifetime: number): IdleConnection {
    const since = this.#clock.now();
    return { connection, since, until: since + Math.min(lifetime, this.#timeout) };
  }

  /** Closes the connection instead if its lifetime is over. */
  add(idle: IdleConnection): void {
    if (idle.until <= this.#clock.now()) {
      idle.connection.abandon();
      return;
    }
    this.#idle.push(idle);
    this.#timer ??= this.#clock.after(this.#timeout, this.#closeExpired);
  }

  /** @returns undefined if none can be used */
  take(): IdleConnection | undefined {
    for (;;) {
      const idle = this.#idle.pop();
      if (idle === undefined) return undefined;
      if (!idle.connection.closed && this.#clock.now() < idle.until) return idle;
      idle.connection.abandon();
    }
  }

  /** The connection was closed. */
  remove(connection: Connection): void {
    const at = this.#idle.findIndex((idle) => idle.connection === connection);
    if (at !== -1) this.#idle.splice(at, 1);
  }

  /** Closes all; none may be added afterwards. */
  close(): void {
    this.#timer?.cancel();
    for (const { connection } of this.#idle.splice(0)) connection.abandon();
  }

  readonly #closeExpired = (): void => {
    const now = this.#clock.now();
    const all = this.#idle;
    this.#idle = all.filter(({ since }) => since + this.#timeout > now);
    for (const { connection, since } of all) if (since + this.#timeout <= now) connection.abandon();
    const [oldest] = this.#idle;
    this.#timer =
      oldest === undefined
        ? undefined
        : this.#clock.after(oldest.since + this.#timeout - now, this.#closeExpired);
  };
}
