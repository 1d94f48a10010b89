/**
 * An HTTP/1.1 request with its response. One object with methods instead of closures, because every request
 * allocates one.
 * RFC 9112 §9.3.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Cancellation } from '../lib/cancellation.ts';
import type { ClientCertificate } from '../lib/client-certificate.ts';
import type { Timer } from '../lib/clock.ts';
import type { Exchange, ResponseWriter } from '../lib/exchange.ts';
import { fromRawHeaders, type HeaderList, headerValue } from '../lib/header-list.ts';
import type { Http1Connection } from './http1-connection.ts';
import { announcesBody } from './http1-head.ts';
import { Http1Response } from './http1-response.ts';
import { continueOnRead, discardRest, isUnread, limitRest } from './request-body.ts';
import { serveGuarded } from './serve-context.ts';

export class Http1Exchange extends Http1Response implements Exchange {
  readonly headers: HeaderList;
  bytesReceived = 0;
  readonly #request: IncomingMessage;
  readonly #hasBody: boolean;
  #body: Readable | undefined;
  #discarded = false;
  /** True while it waits only for earlier responses. */
  #ready = false;
  #waitLimit: Timer | undefined;

  constructor(request: IncomingMessage, outgoing: ServerResponse, connection: Http1Connection) {
    super(outgoing, request.socket, connection);
    this.#request = request;
    this.headers = fromRawHeaders(request.rawHeaders);
    this.#hasBody = announcesBody(this.headers);
    if (!this.#hasBody) return;
    connection.expectBody(Number(headerValue(this.headers, 'content-length') ?? 0));
    request.on('error', connection.onRequestError);
    // Before 'finish', because Node then discards the rest of the body without a limit.
    outgoing.on('prefinish', () => this.#discardWithinLimits());
  }

  get method(): string {
    return this.#request.method ?? '';
  }

  get target(): string {
    return this.#request.url ?? '';
  }

  get httpVersion(): string {
    return this.#request.httpVersion;
  }

  get peerAddress(): string | undefined {
    return this.connection.peerAddress;
  }

  get clientCertificate(): ClientCertificate | undefined {
    return this.connection.clientCertificate;
  }

  /** With `optimizeEmptyRequests` (`listener.ts`) Node's stream of an empty body cannot be read. */
  get body(): Readable {
    this.#body ??= this.#hasBody ? this.#request : Readable.from([]);
    return this.#body;
  }

  get response(): ResponseWriter {
    return this;
  }

  get cancellation(): Cancellation {
    return this;
  }

  get stopping(): Cancellation {
    return this.connection.context.stopping;
  }

  /** `Expect: 100-continue`: the connection closes after the response unless the body was requested. */
  expectContinue(): void {
    const { shouldKeepAlive } = this.outgoing;
    this.closeAfter();
    const sendContinue = () => {
      if (this.closed || this.headersSent) return;
      this.outgoing.shouldKeepAlive = shouldKeepAlive;
      this.outgoing.writeContinue();
    };
    this.#body = continueOnRead(this.body, sendContinue, this.connection.context.logger);
  }

  /** Serves the request when all earlier responses are sent; never if the client disconnects before. */
  serveInOrder(): void {
    this.#ready = true;
    if (!this.connection.isWaiting(this)) {
      this.onFirst();
      return;
    }
    if (!this.#hasBody) return;
    // Its unread body hides a disconnect of the client, so the wait is limited.
    const { clock, timeouts } = this.connection.context;
    this.#waitLimit = clock.after(timeouts.header, () => this.socket.destroy());
  }

  onFirst(): void {
    if (!this.#ready || this.closed) return;
    this.#ready = false;
    this.#waitLimit?.cancel();
    serveGuarded(this, this.connection.context);
  }

  get requestComplete(): boolean {
    return this.#request.complete;
  }

  override cancel(): void {
    this.#waitLimit?.cancel();
    super.cancel();
  }

  protected get drainSource(): ServerResponse {
    return this.outgoing;
  }

  protected beforeHead(): void {
    if (this.connection.context.draining.cancelled) this.closeAfter();
    if (this.#hasBody && !this.#request.complete && isUnread(this.#request)) this.#discard();
  }

  #discardWithinLimits(): void {
    if (this.#request.complete) return;
    this.#discard();
    const { clock, timeouts } = this.connection.context;
    limitRest(this.#request, this.socket, clock, timeouts.header);
  }

  #discard(): void {
    if (!this.#discarded) discardRest(this.#request, this.socket);
    this.#discarded = true;
  }

  protected override finished(): void {
    super.finished();
    if (this.#request.complete) {
      this.#closeIfDraining();
      return;
    }
    this.connection.respondedEarly = true;
    this.#request.once('end', () => {
      this.connection.respondedEarly = false;
      this.#closeIfDraining();
    });
  }

  /** A stopping listener closes a connection without pending responses. */
  #closeIfDraining(): void {
    if (this.connection.context.stopping.cancelled && this.connection.pending === 0)
      this.socket.destroySoon();
  }
}
