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
import type { Connector, Opening } from './connector.ts';
import { Errand } from './errand.ts';
import { timedOut } from './failure.ts';
import { KeptConnections } from './kept-connections.ts';
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

export class ConnectionPool implements ConnectionOwner {
  readonly #connector: Connector;
  readonly #max: number;
  readonly #logger: Logger;
  readonly #open = new Set<PooledConnection>();
  readonly #opening = new Set<Opening>();
  readonly #kept: KeptConnections;
  readonly #waiting: WaitingErrands;
  /** Errands that leave as soon as what has arrived was looked at. */
  #leaving: Errand[] = [];
  #closed = false;
  #destroyed = false;
  readonly #ended = Promise.withResolvers<void>();

  constructor(connector: Connector, { max, patience, clock, logger }: PoolOptions) {
    this.#connector = connector;
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
    for (const opening of this.#opening) opening.giveUp(error);
    for (const connection of this.#open) connection.fail(error);
    await this.close();
  }

  onFree(connection: PooledConnection, keptFor: number | undefined): void {
    const next = this.#waiting.take();
    if (next !== undefined) this.#leaveOn(connection, next);
    else if (this.#closed) connection.abandon();
    else this.#kept.keep(connection, keptFor);
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

  #place(errand: Errand): void {
    const connection = this.#kept.take();
    if (connection !== undefined) this.#leaveOn(connection, errand);
    else if (this.#open.size + this.#opening.size < this.#max) this.#openFor(errand);
    else this.#waiting.add(errand);
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
    this.#fail(errand, error);
    this.#openForWaiting();
    this.#endIfEmpty();
  }

  #openForWaiting(): void {
    if (this.#open.size + this.#opening.size >= this.#max) return;
    const next = this.#waiting.take();
    if (next !== undefined) this.#openFor(next);
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
