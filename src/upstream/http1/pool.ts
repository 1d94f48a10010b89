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
import type { ConnectAttempt, Connector } from './connector.ts';
import { Http1Error } from './errors.ts';
import { type IdleConnection, IdleConnections } from './idle-connections.ts';
import { PendingRequest, RequestQueue, UNASSIGNED } from './pending-request.ts';

export interface PoolOptions {
  readonly connector: Connector;
  readonly clock: Clock;
  /** Called with what a handler's `onFailure` has thrown. */
  readonly onHandlerError: (error: unknown) => void;
  /** Open and pending connections; further requests wait. */
  readonly maxConnections: number;
  /** Milliseconds that a request may wait for a connection. */
  readonly queueTimeout: number;
}

/** Milliseconds; a Kubernetes API server closes an idle connection after 90 s. */
const IDLE_TIMEOUT = 60_000;
/** Milliseconds; kube-apiserver waits 32 s for a connection's first request (`ReadHeaderTimeout`). */
const UNUSED_TIMEOUT = 28_000;
/** Milliseconds before the end of a server's keep-alive timeout, since a request may be on its way. */
const KEEP_ALIVE_MARGIN = 2_000;

export class ConnectionPool implements ConnectionOwner {
  readonly #options: PoolOptions;
  readonly #open = new Set<Connection>();
  /** Each serves the request that has waited longest when it succeeds, whichever it was begun for. */
  readonly #connecting = new Set<ConnectAttempt>();
  readonly #idle: IdleConnections;
  readonly #queue: RequestQueue;
  /** Requests that are sent as soon as pending input was read. */
  #scheduled: PendingRequest[] = [];
  #closed = false;
  #destroyed = false;
  readonly #ended = Promise.withResolvers<void>();

  constructor(options: PoolOptions) {
    const { clock, queueTimeout } = options;
    this.#options = options;
    this.#idle = new IdleConnections(clock);
    this.#queue = new RequestQueue(clock, queueTimeout, (request) =>
      this.#fail(request, new Http1Error('QUEUE_TIMEOUT', 'no connection became free')),
    );
  }

  /**
   * @param alreadyAccepted also while the pool closes: the request repeats one that has just failed, and is
   *   sent from its handler
   * @returns the request; if its handler has been called with a failure already, nothing was sent
   */
  send(request: WireRequest, handler: ResponseHandler, alreadyAccepted = false): PendingRequest {
    const pending = new PendingRequest(request, handler, this.#onReturned);
    if (this.#destroyed || (this.#closed && !alreadyAccepted))
      this.#fail(pending, new Http1Error('POOL_CLOSED', 'the connection pool is closed'));
    else this.#assign(pending);
    return pending;
  }

  /** Takes no new requests; resolves when all have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#idle.close();
    for (const attempt of this.#connecting)
      if (this.#connecting.size > this.#queue.size) attempt.cancel(new Error('no request waits for it'));
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
    for (const attempt of this.#connecting) attempt.cancel(error);
    for (const connection of this.#open) connection.fail(error);
    await this.close();
  }

  onIdle(connection: Connection, keepAliveTimeout: number | undefined): void {
    const lifetime =
      keepAliveTimeout === undefined
        ? IDLE_TIMEOUT
        : Math.min(IDLE_TIMEOUT, keepAliveTimeout * 1_000 - KEEP_ALIVE_MARGIN);
    this.#release({ connection, until: this.#options.clock.now() + lifetime });
  }

  onClosed(connection: Connection): void {
    this.#open.delete(connection);
    this.#idle.remove(connection);
    this.#connectFor(this.#queue.size);
    this.#endIfEmpty();
  }

  onHandlerError(error: unknown): void {
    this.#options.onHandlerError(error);
  }

  readonly #onReturned = (idle: IdleConnection): void => {
    if (!idle.connection.closed) this.#release(idle);
  };

  #assign(request: PendingRequest): void {
    const idle = this.#idle.take();
    if (idle !== undefined) {
      this.#schedule(request, idle);
      return;
    }
    this.#connectFor(this.#queue.size + 1);
    this.#queue.add(request);
  }

  /** Opens a connection if fewer are being opened than requests wait. */
  #connectFor(waiting: number): void {
    const connections = this.#open.size + this.#connecting.size;
    if (this.#connecting.size >= waiting || connections >= this.#options.maxConnections) return;
    const attempt = this.#options.connector((result) => {
      this.#connecting.delete(attempt);
      if (!(result instanceof Error)) return this.#onConnected(result);
      const request = this.#queue.size > this.#connecting.size ? this.#queue.take() : undefined;
      if (request !== undefined) this.#fail(request, result);
      this.#connectFor(this.#queue.size);
      this.#endIfEmpty();
      return undefined;
    });
    this.#connecting.add(attempt);
  }

  #onConnected(socket: Socket): Connection {
    const connection = new Connection(socket, this);
    this.#open.add(connection);
    const request = this.#queue.take();
    if (request !== undefined) this.#sendOn(connection, request);
    else this.#release({ connection, until: this.#options.clock.now() + UNUSED_TIMEOUT });
    return connection;
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

  /** Fails a request that was not sent. */
  #fail(request: PendingRequest, error: Error): void {
    if (request.stage.phase === 'done') return;
    request.cancel();
    reportFailure(request.handler, error, this);
  }

  #endIfEmpty(): void {
    const active = this.#open.size + this.#connecting.size + this.#scheduled.length;
    if (this.#closed && active === 0 && this.#queue.size === 0) this.#ended.resolve();
  }
}
