/**
 * Connections to the API server, each used by one request at a time and kept for the next. HTTP/1.1, since a watch must not
 * share its window with others; requests are never sent ahead of an answer.
 *
 * A kept connection is used again only after everything that had arrived was looked at: what a server, or whoever stands
 * between, sent unasked would be taken for the answer to the next request, and that is another person's.
 * RFC 9112 §9.3; https://github.com/advisories/GHSA-35p6-xmwp-9g52
 */
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { MAX_HEADER_BYTES } from './connection.ts';
import type { Connector } from './connector.ts';
import { Errand } from './errand.ts';
import { timedOut } from './failure.ts';
import { type Kept, KeptConnections } from './kept-connections.ts';
import { type OpeningOwner, Openings } from './openings.ts';
import {
  type AnswerHandler,
  type ConnectionOwner,
  PooledConnection,
  tellFailure,
  type WireRequest,
} from './pooled-connection.ts';
import { WaitingErrands } from './waiting-errands.ts';

export interface PoolOptions {
  /** Connections; further requests wait for one that becomes free. */
  readonly max: number;
  /** Milliseconds that a request waits for one. */
  readonly patience: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Seconds for which a connection is kept over which nothing was asked: a Kubernetes API server waits 32 s for its first request
 * (`ReadHeaderTimeout`).
 */
const KEPT_UNUSED = 30;

export class ConnectionPool implements ConnectionOwner, OpeningOwner {
  readonly #max: number;
  readonly #logger: Logger;
  readonly #open = new Set<PooledConnection>();
  readonly #opening: Openings;
  readonly #kept: KeptConnections;
  readonly #waiting: WaitingErrands;
  /** Errands that leave as soon as what has arrived was looked at. */
  #leaving: Errand[] = [];
  #closed = false;
  #destroyed = false;
  readonly #ended = Promise.withResolvers<void>();

  constructor(connector: Connector, { max, patience, clock, logger }: PoolOptions) {
    this.#opening = new Openings(connector, this);
    this.#max = max;
    this.#logger = logger;
    this.#kept = new KeptConnections(clock);
    this.#waiting = new WaitingErrands(clock, patience, (errand) =>
      this.#fail(errand, timedOut('no connection became free')),
    );
  }

  /**
   * Where the handler fails at once, nothing was sent.
   *
   * @param takenOn it is nothing new, even where the pool closes: given while another errand is told of its end, whose place
   *   it takes
   */
  send(request: WireRequest, handler: AnswerHandler, takenOn = false): Errand {
    const errand = new Errand(request, handler);
    if (this.#destroyed || (this.#closed && !takenOn))
      this.#fail(errand, new Error('the connections are being closed'));
    else this.#place(errand);
    return errand;
  }

  /** Takes nothing new; done when all errands have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#kept.close();
    this.#opening.close(new Error('the connections are being closed'));
    this.#endIfEmpty();
    await this.#ended.promise;
  }

  /** Breaks everything off. */
  async destroy(): Promise<void> {
    this.#closed = true;
    this.#destroyed = true;
    const error = new Error('the connections are being given up');
    for (let errand = this.#waiting.take(); errand !== undefined; errand = this.#waiting.take())
      this.#fail(errand, error);
    for (const errand of this.#leaving.splice(0)) this.#fail(errand, error);
    this.#opening.giveUp(error);
    for (const connection of this.#open) connection.fail(error);
    await this.close();
  }

  onFree(connection: PooledConnection, keptFor: number | undefined): void {
    this.#giveTo(this.#kept.lifeOf(connection, keptFor));
  }

  onGone(connection: PooledConnection): void {
    this.#open.delete(connection);
    this.#kept.drop(connection);
    this.#openForWaiting();
    this.#endIfEmpty();
  }

  onFault(error: unknown): void {
    this.#logger.error({ error }, 'whoever asked the API server could not be told that it failed');
  }

  nextWaiting(): Errand | undefined {
    return this.#waiting.take();
  }

  onOpened(socket: Socket, errand: Errand | undefined): PooledConnection {
    const connection = new PooledConnection(socket, this, MAX_HEADER_BYTES);
    this.#open.add(connection);
    if (errand === undefined) this.onFree(connection, KEPT_UNUSED);
    else this.#sendOn(connection, errand);
    return connection;
  }

  onNotOpened(error: Error, errand: Errand | undefined): void {
    if (errand !== undefined) this.#fail(errand, error);
    this.#openForWaiting();
    this.#endIfEmpty();
  }

  #place(errand: Errand): void {
    const kept = this.#kept.take();
    if (kept !== undefined) {
      this.#leaveOn(kept, errand);
      return;
    }
    if (this.#opening.adopt(errand)) return;
    if (this.#open.size + this.#opening.size < this.#max) this.#opening.openFor(errand);
    else this.#waiting.add(errand);
  }

  /** It goes to who has waited longest, or is kept. */
  #giveTo(kept: Kept): void {
    const next = this.nextWaiting();
    if (next !== undefined) this.#leaveOn(kept, next);
    else if (this.#closed) kept.connection.abandon();
    else this.#kept.keep(kept);
  }

  readonly #giveBack = (kept: Kept): void => {
    if (!kept.connection.closed) this.#giveTo(kept);
  };

  #leaveOn(kept: Kept, errand: Errand): void {
    errand.kept = kept;
    errand.giveBack = this.#giveBack;
    this.#leaving.push(errand);
    // Behind the poll phase, in which sockets are read.
    if (this.#leaving.length === 1) setImmediate(this.#leave);
  }

  readonly #leave = (): void => {
    for (const errand of this.#leaving.splice(0)) {
      const { kept } = errand;
      if (kept === undefined) continue;
      errand.kept = undefined;
      if (kept.connection.closed) this.#place(errand);
      else this.#sendOn(kept.connection, errand);
    }
    this.#endIfEmpty();
  };

  #sendOn(connection: PooledConnection, errand: Errand): void {
    errand.connection = connection;
    errand.sent = true;
    connection.send(errand.request, errand.handler);
  }

  #openForWaiting(): void {
    if (this.#open.size + this.#opening.size >= this.#max) return;
    const next = this.#waiting.take();
    if (next !== undefined) this.#opening.openFor(next);
  }

  /** Ends an errand that no connection is at. */
  #fail(errand: Errand, error: Error): void {
    if (errand.abandoned) return;
    errand.abandon();
    tellFailure(errand.handler, error, this);
  }

  #endIfEmpty(): void {
    const underWay = this.#open.size + this.#opening.size + this.#leaving.length;
    if (this.#closed && underWay === 0 && this.#waiting.empty) this.#ended.resolve();
  }
}
