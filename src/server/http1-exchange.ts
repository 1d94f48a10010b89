/**
 * A request over HTTP/1.1 together with its answer, from its head until the answer has left. One object for both, with
 * methods instead of closures: every request makes one.
 * RFC 9112 §9.3.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { ClientCertificate } from '../api/credentials.ts';
import type { Cancellation } from '../lib/cancellation.ts';
import type { Timer } from '../lib/clock.ts';
import { fromRawHeaders, type HeaderList } from '../lib/header-list.ts';
import type { Exchange, ResponseWriter } from '../pipeline/ports.ts';
import { continueOnRead } from './expect-continue.ts';
import type { Http1Connection } from './http1-connection.ts';
import { announcesBody } from './http1-head.ts';
import { Http1Response } from './http1-response.ts';
import { serveGuarded } from './serve-context.ts';
import { discardRest, isUntouched, limitRest } from './unread-body.ts';

export class Http1Exchange extends Http1Response implements Exchange {
  readonly headers: HeaderList;
  readonly #request: IncomingMessage;
  readonly #hasBody: boolean;
  #body: Readable | undefined;
  #discarded = false;
  /** True while all that keeps it from being served is that it is not its turn. */
  #ready = false;
  #limit: Timer | undefined;

  constructor(request: IncomingMessage, outgoing: ServerResponse, connection: Http1Connection) {
    super(outgoing, request.socket, connection);
    this.#request = request;
    this.headers = fromRawHeaders(request.rawHeaders);
    this.#hasBody = announcesBody(this.headers);
    if (!this.#hasBody) return;
    request.on('error', connection.onRequestError);
    // Before 'finish', where Node would begin to throw away the rest of the body without any bound.
    outgoing.on('prefinish', () => this.#giveUpRest());
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

  /** Node is told to close the bodies of requests without one at once (`listener.ts`): they cannot be read. */
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

  /** The client waits for leave to send its body; without the leave, the connection ends with the answer. */
  awaitLeave(): void {
    const { shouldKeepAlive } = this.outgoing;
    this.closeAfter();
    const sayContinue = () => {
      if (this.closed || this.headersSent) return;
      this.outgoing.shouldKeepAlive = shouldKeepAlive;
      this.outgoing.writeContinue();
    };
    this.#body = continueOnRead(this.body, sayContinue, this.connection.context.logger);
  }

  /** Serves it now, or when the answers before have left; never where the client leaves first. */
  serveInTurn(): void {
    this.#ready = true;
    if (!this.connection.waits(this)) {
      this.takeTurn();
      return;
    }
    if (!this.#hasBody) return;
    // While its body lies unread nobody would notice that the client has left; so it does not lie for long.
    const { clock, timeouts } = this.connection.context;
    this.#limit = clock.after(timeouts.header, () => this.socket.destroy());
  }

  takeTurn(): void {
    if (!this.#ready || this.closed) return;
    this.#ready = false;
    this.#limit?.cancel();
    serveGuarded(this, this.connection.context);
  }

  get requestComplete(): boolean {
    return this.#request.complete;
  }

  override abandon(): void {
    this.#limit?.cancel();
    super.abandon();
  }

  protected get drains(): ServerResponse {
    return this.outgoing;
  }

  protected beforeHead(): void {
    if (this.connection.context.draining.aborted) this.closeAfter();
    if (this.#hasBody && !this.#request.complete && isUntouched(this.#request)) this.#discard();
  }

  #giveUpRest(): void {
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
      this.#closeWhenDraining();
      return;
    }
    this.connection.answeredEarly = true;
    this.#request.once('end', () => {
      this.connection.answeredEarly = false;
      this.#closeWhenDraining();
    });
  }

  /** A listener that stops keeps no connection that owes nothing. */
  #closeWhenDraining(): void {
    if (this.connection.context.draining.aborted && this.connection.pending === 0) this.socket.destroySoon();
  }
}
