/**
 * Connections that no request uses. The connection used last is taken first, so that superfluous ones expire
 * and are closed. RFC 9112 §9.3, §9.5.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Connection } from './connection.ts';

export interface IdleConnection {
  readonly connection: Connection;
  /** When it may no longer be used, in milliseconds since the epoch. */
  readonly until: number;
}

export class IdleConnections {
  readonly #clock: Clock;
  /** The one used last is at the end. */
  #idle: IdleConnection[] = [];
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Closes the connection instead if its time is over. */
  add(idle: IdleConnection): void {
    const left = idle.until - this.#clock.now();
    if (left <= 0) {
      idle.connection.abandon();
      return;
    }
    this.#idle.push(idle);
    this.#timer ??= this.#clock.after(left, this.#closeExpired);
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
    this.#timer = undefined;
    const now = this.#clock.now();
    for (const { connection } of this.#idle.filter(({ until }) => until <= now)) connection.abandon();
    this.#idle = this.#idle.filter(({ until }) => until > now);
    if (this.#idle.length === 0) return;
    const next = Math.min(...this.#idle.map(({ until }) => until));
    this.#timer = this.#clock.after(next - now, this.#closeExpired);
  };
}
