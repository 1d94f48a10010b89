/**
 * Connections to the API server, each used by one request at a time and kept for the next. HTTP/1.1, since a watch must not
 * share its window with others; requests are never sent ahead of an answer.
 *
 * A kept connection is used again only after everything that had arrived was looked at: what a server, or whoever stands
 * between, sent unasked would be taken for the answer to the next request, and that is another person's.
 * RFC 9112 §9.3; https://github.com/advisories/GHSA-35p6-xmwp-9g52
 */
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../lib/clock.ts';
import { Place } from '../lib/ring.ts';
import { MAX_HEADER_BYTES } from './connection.ts';
import type { Connector, Opening } from './connector.ts';
import { type AnswerHandler, PooledConnection, tellFailure, type WireRequest } from './pooled-connection.ts';

/** Milliseconds; below the 90 s after which a Kubernetes API server closes an idle connection. */
const KEPT = 60_000;
/** What a server's promise to keep a connection is shortened by, for a request may be on its way. */
const PROMISE_MARGIN = 2_000;

/** One request, from when it is given to the pool. */
export class Errand extends Place {
  readonly request: WireRequest;
  readonly handler: AnswerHandler;
  /** While it is being opened for this errand. */
  opening: Opening | undefined;
  /** Once there is one for it. */
  connection: PooledConnection | undefined;
  sent = false;
  abandoned = false;

  constructor(request: WireRequest, handler: AnswerHandler) {
    super();
    this.request = request;
    this.handler = handler;
  }

  /** Nobody wants the answer any more; nothing is told from now on. */
  abandon(): void {
    this.abandoned = true;
    this.unlink();
    this.opening?.giveUp(new Error('nobody wants the connection any more'));
    this.#serving?.abandon();
  }

  /** Ends it where no connection is at it. */
  fail(error: Error): void {
    if (this.abandoned) return;
    this.abandon();
    tellFailure(this.handler, error);
  }

  /** The answer is to wait. What has arrived already is still told. */
  pause(): void {
    this.#serving?.pause();
  }

  resume(): void {
    this.#serving?.resume();
  }

  /** The connection, while it is at this errand: before and afterwards it is somebody else's. */
  get #serving(): PooledConnection | undefined {
    return this.sent && this.connection?.serves(this.handler) ? this.connection : undefined;
  }
}

interface Kept {
  readonly connection: PooledConnection;
  /** Milliseconds since the epoch, as is the next. */
  readonly since: number;
  readonly until: number;
}

export class ConnectionPool {
  readonly #connector: Connector;
  readonly #max: number;
  readonly #clock: Clock;
  readonly #open = new Set<PooledConnection>();
  readonly #opening = new Set<Opening>();
  /** The one used last at the end: the others may grow old. */
  #kept: Kept[] = [];
  #timer: Timer | undefined;
  /** Errands for which there is no connection. */
  readonly #waiting = new Place();
  /** Errands that leave as soon as what has arrived was looked at. */
  #leaving: Errand[] = [];
  #closed = false;
  readonly #ended = Promise.withResolvers<void>();

  /** @param max connections; further requests wait for one that becomes free */
  constructor(connector: Connector, max: number, clock: Clock) {
    this.#connector = connector;
    this.#max = max;
    this.#clock = clock;
  }

  /**
   * Where the handler fails at once, nothing was sent.
   *
   * @param again while `onFailure` tells that the connection was lost: nothing new, even where the pool closes
   */
  send(request: WireRequest, handler: AnswerHandler, again = false): Errand {
    const errand = new Errand(request, handler);
    if (this.#closed && !again) errand.fail(new Error('the connections are being closed'));
    else this.#place(errand);
    return errand;
  }

  /** Takes nothing new; done when all errands have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    for (const { connection } of this.#kept.splice(0)) connection.abandon();
    this.#endIfEmpty();
    await this.#ended.promise;
  }

  /** Breaks everything off. */
  async destroy(): Promise<void> {
    this.#closed = true;
    const error = new Error('the connections are being given up');
    const unsent = [...this.#waiting.others(), ...this.#leaving.splice(0)];
    for (const errand of unsent) if (errand instanceof Errand) errand.fail(error);
    for (const opening of this.#opening) opening.giveUp(error);
    for (const connection of this.#open) connection.fail(error);
    await this.close();
  }

  onFree(connection: PooledConnection, keptFor: number | undefined): void {
    const next = this.#nextWaiting();
    if (next !== undefined) {
      this.#leaveOn(connection, next);
      return;
    }
    const now = this.#clock.now();
    const promised = keptFor === undefined ? KEPT : Math.min(KEPT, keptFor * 1_000 - PROMISE_MARGIN);
    if (this.#closed || promised <= 0) {
      connection.abandon();
      return;
    }
    this.#kept.push({ connection, since: now, until: now + promised });
    this.#timer ??= this.#clock.after(KEPT, this.#letGo);
  }

  onGone(connection: PooledConnection): void {
    this.#open.delete(connection);
    const at = this.#kept.findIndex((kept) => kept.connection === connection);
    if (at !== -1) this.#kept.splice(at, 1);
    this.#openForWaiting();
    this.#endIfEmpty();
  }

  #place(errand: Errand): void {
    const connection = this.#takeKept();
    if (connection !== undefined) this.#leaveOn(connection, errand);
    else if (this.#open.size + this.#opening.size < this.#max) this.#openFor(errand);
    else errand.joinBefore(this.#waiting);
  }

  #takeKept(): PooledConnection | undefined {
    for (;;) {
      const kept = this.#kept.pop();
      if (kept === undefined) return undefined;
      if (!kept.connection.closed && this.#clock.now() < kept.until) return kept.connection;
      kept.connection.abandon();
    }
  }

  #leaveOn(connection: PooledConnection, errand: Errand): void {
    errand.connection = connection;
    this.#leaving.push(errand);
    // Behind the poll phase, in which sockets are read.
    if (this.#leaving.length === 1) setImmediate(this.#leave);
  }

  readonly #leave = (): void => {
    for (const errand of this.#leaving.splice(0)) {
      const { connection } = errand;
      if (connection === undefined) continue;
      if (errand.abandoned) {
        // How long it may still be kept is not known here.
        connection.abandon();
      } else if (connection.closed) this.#place(errand);
      else this.#sendOn(connection, errand);
    }
    this.#endIfEmpty();
  };

  #sendOn(connection: PooledConnection, errand: Errand): void {
    errand.connection = connection;
    errand.sent = true;
    connection.send(errand.request, errand.handler);
  }

  #openFor(errand: Errand): void {
    const opening = this.#connector((opened) => {
      this.#opening.delete(opening);
      errand.opening = undefined;
      return opened instanceof Error ? this.#notOpened(opened, errand) : this.#opened(opened, errand);
    });
    this.#opening.add(opening);
    errand.opening = opening;
  }

  #opened(socket: Socket, errand: Errand): PooledConnection {
    const connection = new PooledConnection(socket, this, MAX_HEADER_BYTES);
    this.#open.add(connection);
    this.#sendOn(connection, errand);
    return connection;
  }

  #notOpened(error: Error, errand: Errand): undefined {
    errand.fail(error);
    this.#openForWaiting();
    this.#endIfEmpty();
  }

  #openForWaiting(): void {
    if (this.#waiting.alone || this.#open.size + this.#opening.size >= this.#max) return;
    const next = this.#nextWaiting();
    if (next !== undefined) this.#openFor(next);
  }

  #nextWaiting(): Errand | undefined {
    if (this.#waiting.alone) return undefined;
    for (const place of this.#waiting.others()) {
      place.unlink();
      if (place instanceof Errand) return place;
    }
    return undefined;
  }

  /** Of the kept ones, those that nobody has wanted for long. */
  readonly #letGo = (): void => {
    const now = this.#clock.now();
    const all = this.#kept;
    this.#kept = all.filter(({ since }) => since + KEPT > now);
    for (const { connection, since } of all) if (since + KEPT <= now) connection.abandon();
    const [oldest] = this.#kept;
    this.#timer =
      oldest === undefined ? undefined : this.#clock.after(oldest.since + KEPT - now, this.#letGo);
  };

  #endIfEmpty(): void {
    const underWay = this.#open.size + this.#opening.size + this.#leaving.length;
    if (this.#closed && underWay === 0 && this.#waiting.alone) this.#ended.resolve();
  }
}
