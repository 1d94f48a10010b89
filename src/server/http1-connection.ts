/**
 * A client's HTTP/1.1 connection: its client certificate, its queue of pending responses and its timeouts. A
 * pipelined request is not served before the responses to all earlier ones are sent, so a client that reads
 * nothing causes one response. Node reports a disconnect only to the response on the wire; the connection
 * reports it to the others.
 * RFC 9112 §9.3.2.
 */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ClientCertificate } from '../lib/client-certificate.ts';
import { type Progress, ProgressTimeout } from './progress-timeout.ts';
import type { ServeContext } from './serve-context.ts';
import type { HeadReader } from './unfinished-heads.ts';

/** A response that is not sent completely. */
export interface PendingResponse {
  readonly headersSent: boolean;
  /** Whether its request has arrived completely. */
  readonly requestComplete: boolean;
  /** Called when all earlier responses are sent. */
  onFirst(): void;
  /** Called if the client disconnects or the rest of its request cannot be read. */
  cancel(): void;
}

export class Http1Connection implements Progress, HeadReader {
  readonly context: ServeContext;
  readonly peerAddress: string | undefined;
  readonly clientCertificate: ClientCertificate | undefined;
  /** One for all responses: their bytes are sent one after the other. */
  readonly stallTimeout: ProgressTimeout;
  readonly #idleTimeout: ProgressTimeout;
  readonly #socket: Duplex;
  /** The response on the wire. */
  #first: PendingResponse | undefined;
  /** Responses in the order of their requests. */
  readonly #waiting: PendingResponse[] = [];
  #onEmpty: (() => void) | undefined;
  /** Bytes received up to the end of the last request: at most, since more may come with its head. */
  #requested = 0;
  /** True after malformed or ambiguous bytes: no request after them is served (request smuggling). */
  refused = false;
  /** Requests after a refusal. */
  ignoredRequests = 0;
  /**
   * A response was sent while the rest of its request is still to come: a refusal of the rest is not sent.
   */
  respondedEarly = false;

  constructor(socket: Duplex, context: ServeContext) {
    this.context = context;
    this.#socket = socket;
    this.clientCertificate = context.certificateOf(socket);
    this.peerAddress = socket instanceof Socket ? socket.remoteAddress : undefined;
    this.stallTimeout = new ProgressTimeout(context.stallQueue, this);
    const receivedBytes = () => this.received;
    this.#idleTimeout = new ProgressTimeout(context.idleQueue, {
      // A request head that has begun to arrive is not idle: `headersTimeout` limits it.
      get progress() {
        return receivedBytes();
      },
      onTimeout: () => this.destroy(),
    });
    context.heads.add(this);
    socket.once('close', () => {
      context.heads.delete(this);
      this.stallTimeout.dispose();
      this.#idleTimeout.dispose();
      this.#cancelAll();
    });
  }

  /** Bytes that the client has accepted; undefined if it has accepted all. */
  get progress(): number | undefined {
    const { writableLength } = this.#socket;
    if (writableLength === 0) return undefined;
    return this.#socket instanceof Socket ? this.#socket.bytesWritten - writableLength : 0;
  }

  onTimeout(): void {
    this.context.logger.debug({}, 'a client stopped reading its response: the connection is closed');
    this.#socket.destroy();
  }

  get received(): number {
    return this.#socket instanceof Socket ? this.#socket.bytesRead : 0;
  }

  /**
   * Not while a response is pending. A body without a length counts as a head after it: such a connection
   * may be closed too early, but only while it is idle.
   */
  get readsHead(): boolean {
    return this.#first === undefined && this.received > this.#requested;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** The number of pending responses. */
  get pending(): number {
    return this.#first === undefined ? 0 : 1 + this.#waiting.length;
  }

  /** The response to the last request if that has not arrived completely. */
  get incomplete(): PendingResponse | undefined {
    const last = this.#waiting.at(-1) ?? this.#first;
    return last?.requestComplete ? undefined : last;
  }

  enqueue(response: PendingResponse): void {
    this.#idleTimeout.stop();
    this.#requested = this.received;
    if (this.#first === undefined) this.#first = response;
    else this.#waiting.push(response);
  }

  /** Call after `enqueue` with the length of the request's body. */
  expectBody(bytes: number): void {
    this.#requested += bytes;
  }

  /** Call when the response is sent completely, or another one is sent in its place. */
  dequeue(response: PendingResponse): void {
    if (this.#first !== response) {
      const index = this.#waiting.indexOf(response);
      if (index !== -1) this.#waiting.splice(index, 1);
      return;
    }
    this.#first = this.#waiting.shift();
    if (this.#first !== undefined) this.#first.onFirst();
    else if (this.#onEmpty !== undefined) this.#onEmpty();
    else if (!this.#socket.destroyed) this.#idleTimeout.start();
  }

  /** Runs the action when no response is pending; at once if none is. */
  whenEmpty(action: () => void): void {
    if (this.#first === undefined) action();
    else this.#onEmpty = action;
  }

  /** Whether earlier responses are pending. */
  isWaiting(response: PendingResponse): boolean {
    return this.#first !== response;
  }

  #cancelAll(): void {
    this.#first?.cancel();
    for (const response of this.#waiting) response.cancel();
  }

  /** Only logs the error: handlers learn of a body that ends early by their `signal`. */
  readonly onRequestError = (error: Error): void => {
    this.context.logger.debug({ error }, 'a request ended early');
  };
}

/** The connection of a socket, created when it is first asked for: at the end of the TLS handshake. */
export function createHttp1Connections(context: ServeContext): (socket: Duplex) => Http1Connection {
  const connections = new WeakMap<Duplex, Http1Connection>();
  return (socket) => {
    const existing = connections.get(socket);
    if (existing) return existing;
    const connection = new Http1Connection(socket, context);
    connections.set(socket, connection);
    return connection;
  };
}
