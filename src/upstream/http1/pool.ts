/**
 * A pool of HTTP/1.1 connections to one server. Each carries one request at a time, without pipelining, and
 * is reused.
 *
 * An idle connection is used only after all input that had arrived was read: the pool closes a connection
 * over which bytes came unasked, since the next request, of another user, would take them for its response.
 * RFC 9112 §9.3; https://github.com/advisories/GHSA-35p6-xmwp-9g52
 */
import type { Socket } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import {
  Connection,
  type ConnectionOwner,
  type ResponseHandler,
  reportFailure,
  type WireRequest,
} from './connection.ts';
import type { Connector } from './connector.ts';
import { ResponseDiscarder } from './discarder.ts';
import { Http1Error } from './errors.ts';
import { type IdleConnection, IdleConnections } from './idle-connections.ts';
import { InactivityTimers } from './inactivity-timer.ts';
import { PendingConnects, type PendingConnectsOwner } from './pending-connects.ts';
import { PendingRequest, type RequestOwner, RequestQueue, UNASSIGNED } from './pending-request.ts';
import type { ParserLimits } from './response-parser.ts';

export interface PoolOptions extends ParserLimits {
  readonly connector: Connector;
  readonly clock: Clock;
  /** Called with what a handler's `onFailure` has thrown. */
  readonly onHandlerError: (error: unknown) => void;
  /** Open and pending connections; further requests are queued. Unlimited by default. */
  readonly maxConnections?: number;
  /** Milliseconds that a request may be queued. */
  readonly queueTimeout: number;
  /** Milliseconds after which an idle connection is closed; 60 s by default. */
  readonly idleTimeout?: number;
  /** The same for a connection that has carried no request yet; 28 s by default. */
  readonly unusedTimeout?: number;
  /** Milliseconds that the rest of a discarded response may take; 2 s by default. */
  readonly discardTimeout?: number;
  /** Bytes of a response that are discarded at most; 256 KiB by default. */
  readonly maxDiscardedBytes?: number;
}

const DEFAULT_IDLE_TIMEOUT = 60_000;
const DEFAULT_UNUSED_TIMEOUT = 28_000;
export const DEFAULT_DISCARD_TIMEOUT = 2_000;
/** To read more of a response costs more than a TLS handshake. */
export const DEFAULT_MAX_DISCARDED_BYTES = 256 * 1024;
/** Milliseconds before the end of a server's keep-alive timeout, since a request may be on its way. */
const KEEP_ALIVE_MARGIN = 2_000;

export class ConnectionPool implements ConnectionOwner, PendingConnectsOwner, RequestOwner {
  readonly #options: PoolOptions;
  readonly #maxConnections: number;
  readonly #idleTimeout: number;
  readonly #open = new Set<Connection>();
  readonly #connects: PendingConnects;
  readonly #idle: IdleConnections;
  readonly #queue: RequestQueue;
  readonly #discardTimers: InactivityTimers;
  /** Requests that are sent as soon as pending input was read. */
  #scheduled: PendingRequest[] = [];
  #closed = false;
  #destroyed = false;
  readonly #ended = Promise.withResolvers<void>();

  constructor(options: PoolOptions) {
    const { clock, connector, queueTimeout, idleTimeout, maxConnections, discardTimeout } = options;
    this.#options = options;
    this.#maxConnections = maxConnections ?? Number.POSITIVE_INFINITY;
    this.#idleTimeout = idleTimeout ?? DEFAULT_IDLE_TIMEOUT;
    this.#connects = new PendingConnects(connector, this);
    this.#idle = new IdleConnections(clock, this.#idleTimeout);
    this.#queue = new RequestQueue(clock, queueTimeout, (request) =>
      this.#fail(request, new Http1Error('QUEUE_TIMEOUT', 'no connection became free')),
    );
    this.#discardTimers = new InactivityTimers(clock, discardTimeout ?? DEFAULT_DISCARD_TIMEOUT);
  }

  /**
   * @param alreadyAccepted also while the pool closes: the request repeats one that has just failed, and is
   *   sent from its handler
   * @returns the request; if its handler was told of a failure already, nothing was sent
   */
  send(request: WireRequest, handler: ResponseHandler, alreadyAccepted = false): PendingRequest {
    const pending = new PendingRequest(request, handler, this);
    if (this.#destroyed || (this.#closed && !alreadyAccepted))
      this.#fail(pending, new Http1Error('POOL_CLOSED', 'the connection pool is closed'));
    else this.#assign(pending);
    return pending;
  }

  /** Takes no new requests; resolves when all have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#idle.close();
    this.#connects.close(new Http1Error('POOL_CLOSED', 'the connection pool is closed'));
    this.#endIfEmpty();
    await this.#ended.promise;
  }

  /** Breaks off all requests. */
  async destroy(): Promise<void> {
    this.#closed = true;
    this.#destroyed = true;
    const error = new Http1Error('POOL_CLOSED', 'the connection pool was destroyed');
    for (let request = this.#queue.take(); request !== undefined; request = this.#queue.take())
      this.#fail(request, error);
    for (const request of this.#scheduled.splice(0)) this.#fail(request, error);
    this.#connects.cancelAll(error);
    for (const connection of this.#open) connection.fail(error);
    await this.close();
  }

  onIdle(connection: Connection, keepAliveTimeout: number | undefined): void {
    const lifetime =
      keepAliveTimeout === undefined ? this.#idleTimeout : keepAliveTimeout * 1_000 - KEEP_ALIVE_MARGIN;
    this.#release(this.#idle.idleFor(connection, lifetime));
  }

  onClosed(connection: Connection): void {
    this.#open.delete(connection);
    this.#idle.remove(connection);
    this.#connectForQueued();
    this.#endIfEmpty();
  }

  onHandlerError(error: unknown): void {
    this.#options.onHandlerError(error);
  }

  nextQueued(): PendingRequest | undefined {
    return this.#queue.take();
  }

  onConnected(socket: Socket, request: PendingRequest | undefined): Connection {
    const connection = new Connection(socket, this, this.#options);
    this.#open.add(connection);
    if (request === undefined)
      this.#release(this.#idle.idleFor(connection, this.#options.unusedTimeout ?? DEFAULT_UNUSED_TIMEOUT));
    else this.#sendOn(connection, request);
    return connection;
  }

  onConnectFailed(error: Error, request: PendingRequest | undefined): void {
    if (request !== undefined) this.#fail(request, error);
    this.#connectForQueued();
    this.#endIfEmpty();
  }

  onReturned(idle: IdleConnection): void {
    if (!idle.connection.closed) this.#release(idle);
  }

  createDiscarder(connection: Connection, onDone: (closed: boolean) => void): ResponseHandler {
    const maxBytes = this.#options.maxDiscardedBytes ?? DEFAULT_MAX_DISCARDED_BYTES;
    return new ResponseDiscarder(connection, this.#discardTimers, maxBytes, onDone);
  }

  #assign(request: PendingRequest): void {
    const idle = this.#idle.take();
    if (idle !== undefined) {
      this.#schedule(request, idle);
      return;
    }
    if (this.#connects.assignSpare(request)) return;
    if (this.#hasRoom) this.#connects.start(request);
    else this.#queue.add(request);
  }

  /** Gives the connection to the request that has waited longest; otherwise keeps it. */
  #release(idle: IdleConnection): void {
    const next = this.#queue.take();
    if (next !== undefined) this.#schedule(next, idle);
    else if (this.#closed) idle.connection.abandon();
    else this.#idle.add(idle);
  }

  #schedule(request: PendingRequest, idle: IdleConnection): void {
    request.stage = { phase: 'scheduled', idle };
    this.#scheduled.push(request);
    // Runs after the event loop's poll phase, in which sockets are read.
    if (this.#scheduled.length === 1) setImmediate(this.#sendScheduled);
  }

  readonly #sendScheduled = (): void => {
    for (const request of this.#scheduled.splice(0)) {
      const { stage } = request;
      if (stage.phase !== 'scheduled') continue;
      const { connection } = stage.idle;
      if (!connection.closed) this.#sendOn(connection, request);
      else {
        request.stage = UNASSIGNED;
        this.#assign(request);
      }
    }
    this.#endIfEmpty();
  };

  #sendOn(connection: Connection, request: PendingRequest): void {
    request.stage = { phase: 'sent', connection };
    connection.send(request.request, request.handler);
  }

  #connectForQueued(): void {
    if (!this.#hasRoom) return;
    const next = this.#queue.take();
    if (next !== undefined) this.#connects.start(next);
  }

  get #hasRoom(): boolean {
    return this.#open.size + this.#connects.size < this.#maxConnections;
  }

  /** Fails a request that was not sent. */
  #fail(request: PendingRequest, error: Error): void {
    if (request.stage.phase === 'done') return;
    request.cancel();
    reportFailure(request.handler, error, this);
  }

  #endIfEmpty(): void {
    const active = this.#open.size + this.#connects.size + this.#scheduled.length;
    if (this.#closed && active === 0 && this.#queue.empty) this.#ended.resolve();
  }
}
