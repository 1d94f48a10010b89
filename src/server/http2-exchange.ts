/**
 * An HTTP/2 request with its response, on one stream. One object with methods, because every request
 * allocates one.
 * RFC 9113 §8.
 */
import {
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Readable } from 'node:stream';
import type { Cancellation } from '../lib/cancellation.ts';
import type { ClientCertificate } from '../lib/client-certificate.ts';
import type { Exchange, ResponseWriter } from '../lib/exchange.ts';
import type { HeaderList } from '../lib/header-list.ts';
import { requestFields, responseFields } from './http2-headers.ts';
import type { SessionGuard } from './http2-session-guard.ts';
import { type Progress, ProgressTimeout } from './progress-timeout.ts';
import { continueOnRead } from './request-body.ts';
import { type BodySink, checkedFields, endInPieces, ResponseState, whenTaken } from './response-writing.ts';
import type { ServeContext } from './serve-context.ts';

/** What the requests of an HTTP/2 connection share. */
export interface Http2Connection {
  readonly session: ServerHttp2Session;
  readonly peerAddress: string | undefined;
  readonly clientCertificate: ClientCertificate | undefined;
  readonly guard: SessionGuard;
  readonly context: ServeContext;
}

export class Http2Exchange extends ResponseState implements Exchange, ResponseWriter, BodySink, Progress {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly httpVersion = '2.0';
  bytesReceived = 0;
  readonly #stream: ServerHttp2Stream;
  readonly #connection: Http2Connection;
  readonly #stallTimeout: ProgressTimeout;
  #body: Readable;
  /** The response has no body: HEAD, or a status without content. */
  #bodiless: boolean;
  #written = 0;
  #sent = 0;

  constructor(
    stream: ServerHttp2Stream,
    pseudo: IncomingHttpHeaders,
    raw: readonly string[],
    connection: Http2Connection,
  ) {
    super();
    const { guard } = connection;
    const { logger, stallQueue } = connection.context;
    this.method = pseudo[':method'] ?? '';
    this.target = pseudo[':path'] ?? '';
    this.headers = requestFields(raw);
    this.#stream = stream;
    this.#connection = connection;
    this.#stallTimeout = new ProgressTimeout(stallQueue, this);
    this.#body = stream;
    this.#bodiless = this.method === 'HEAD';
    guard.streamOpened(stream);
    // 'on', although most are emitted once: Node notifies every stream of each listener that is removed.
    stream.on('error', (error) => logger.debug({ error }, 'an HTTP/2 stream failed'));
    // After a reset with NO_ERROR, Node closes a stream only after its last write, which waits for a window
    // update.
    stream.on('aborted', () => {
      this.cancel();
      stream.destroy();
      guard.streamReset();
    });
    stream.on('close', () => {
      this.#stallTimeout.stop();
      this.cancel();
      guard.streamClosed(stream);
    });
    // After the response, the client is told to stop uploading a body that is not read (RFC 9113 §8.1).
    if (!stream.endAfterHeaders)
      stream.on('finish', () =>
        setImmediate(() => {
          if (!stream.readableEnded && !stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
        }),
      );
  }

  get connection(): ServerHttp2Session {
    return this.#connection.session;
  }

  get peerAddress(): string | undefined {
    return this.#connection.peerAddress;
  }

  get clientCertificate(): ClientCertificate | undefined {
    return this.#connection.clientCertificate;
  }

  get body(): Readable {
    return this.#body;
  }

  get response(): ResponseWriter {
    return this;
  }

  get cancellation(): Cancellation {
    return this;
  }

  get stopping(): Cancellation {
    return this.#connection.context.stopping;
  }

  /** `Expect: 100-continue`. */
  expectContinue(): void {
    const sendContinue = () => {
      if (!this.closed && !this.headersSent) this.#stream.additionalHeaders({ ':status': 100 });
    };
    this.#body = continueOnRead(this.#stream, sendContinue, this.#connection.context.logger);
  }

  /** Bytes that the client has accepted; undefined if it has accepted all. */
  get progress(): number | undefined {
    const { writableLength } = this.#stream;
    return writableLength === 0 ? undefined : this.#written - writableLength;
  }

  onTimeout(): void {
    const { logger } = this.#connection.context;
    logger.debug({}, 'a client stopped reading its response: the stream is closed');
    this.cancel();
    this.#stream.destroy(new Error('the client stopped reading the response'));
  }

  get headersSent(): boolean {
    return this.#stream.headersSent;
  }

  get bytesSent(): number {
    return this.#sent;
  }

  override get closed(): boolean {
    return super.closed || this.#stream.destroyed;
  }

  writeHead(status: number, headers: HeaderList): void {
    if (this.closed) return;
    const fields = responseFields(status, checkedFields(status, headers));
    // Node ends the stream after such a head.
    if (status === 204 || status === 205 || status === 304) this.#bodiless = true;
    this.#stream.respond(fields);
  }

  write(chunk: Uint8Array, onTaken?: () => void): boolean {
    if (this.closed || this.#bodiless) return true;
    this.#sent += chunk.length;
    return this.writePiece(chunk, onTaken);
  }

  onDrain(callback: () => void): void {
    this.#stream.once('drain', callback);
  }

  end(chunk?: Uint8Array | string): void {
    if (this.closed) return;
    this.complete();
    if (!this.#bodiless) this.#sent += endInPieces(chunk, this);
  }

  writePiece(piece: Uint8Array, onTaken?: () => void): boolean {
    this.#written += piece.length;
    const writable = this.#stream.write(piece, whenTaken(onTaken));
    this.#stallTimeout.start();
    return writable;
  }

  endWith(last: Uint8Array | undefined): void {
    this.#written += last?.length ?? 0;
    this.#stream.end(last);
    this.#stallTimeout.start();
  }

  destroy(): void {
    this.complete();
    // Not `close`, which would send END_STREAM first: an incomplete response would look complete.
    this.#stream.destroy(new Error('the response was aborted'));
  }
}
