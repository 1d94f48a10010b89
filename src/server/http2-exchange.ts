/**
 * A request over HTTP/2 together with its answer: one object for both, since every request makes one.
 * RFC 9113 §8.1.
 */
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Readable } from 'node:stream';
import type { ClientCertificate } from '../api/client-certificate.ts';
import { fromRawHeaders, type HeaderList } from '../lib/header-list.ts';
import type { Leaving } from '../lib/leaving.ts';
import type { Exchange, ResponseWriter } from '../pipeline/exchange.ts';
import { continueOnRead } from './expect-continue.ts';
import { Http2Response } from './http2-response.ts';
import type { ServeContext } from './serve-context.ts';

/** Who is at the other end of an HTTP/2 connection. */
export interface Http2Peer {
  readonly session: ServerHttp2Session;
  readonly peerAddress: string | undefined;
  readonly clientCertificate: ClientCertificate | undefined;
}

export class Http2Exchange extends Http2Response implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly httpVersion = '2.0';
  readonly #peer: Http2Peer;
  #body: Readable;

  constructor(
    stream: ServerHttp2Stream,
    pseudo: IncomingHttpHeaders,
    raw: readonly string[],
    peer: Http2Peer,
    context: ServeContext,
  ) {
    const method = pseudo[':method'] ?? '';
    super(stream, method, context);
    this.method = method;
    this.target = pseudo[':path'] ?? '';
    this.headers = fromRawHeaders(raw);
    this.#peer = peer;
    this.#body = stream;
    stream.on('error', (error) => context.logger.debug({ error }, 'an HTTP/2 stream broke'));
    // A reset with NO_ERROR closes a stream only when its last write is done, which waits for a window nobody opens.
    stream.on('aborted', () => {
      this.abandon();
      stream.destroy();
    });
  }

  get connection(): ServerHttp2Session {
    return this.#peer.session;
  }

  get peerAddress(): string | undefined {
    return this.#peer.peerAddress;
  }

  get clientCertificate(): ClientCertificate | undefined {
    return this.#peer.clientCertificate;
  }

  get body(): Readable {
    return this.#body;
  }

  get response(): ResponseWriter {
    return this;
  }

  get leaving(): Leaving {
    return this;
  }

  /** The client waits for leave to send its body. */
  awaitLeave(): void {
    const sayContinue = () => {
      if (!this.closed && !this.headersSent) this.stream.additionalHeaders({ ':status': 100 });
    };
    this.#body = continueOnRead(this.stream, sayContinue, this.context.logger);
  }
}
