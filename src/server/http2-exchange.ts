/**
 * A request over HTTP/2 together with its answer: one object for both, since every request makes one.
 * RFC 9113 §8.1.
 */
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Readable } from 'node:stream';
import type { ClientCertificate } from '../api/credentials.ts';
import type { Cancellation } from '../lib/cancellation.ts';
import type { HeaderList } from '../lib/header-list.ts';
import type { Exchange, ResponseWriter } from '../pipeline/ports.ts';
import { continueOnRead } from './expect-continue.ts';
import { requestFields } from './http2-fields.ts';
import type { Http2Peer } from './http2-peer.ts';
import { Http2Response } from './http2-response.ts';

export class Http2Exchange extends Http2Response implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly httpVersion = '2.0';
  #body: Readable;

  constructor(
    stream: ServerHttp2Stream,
    pseudo: IncomingHttpHeaders,
    raw: readonly string[],
    peer: Http2Peer,
  ) {
    const method = pseudo[':method'] ?? '';
    super(stream, method, peer);
    this.method = method;
    this.target = pseudo[':path'] ?? '';
    this.headers = requestFields(raw);
    this.#body = stream;
  }

  get connection(): ServerHttp2Session {
    return this.peer.session;
  }

  get peerAddress(): string | undefined {
    return this.peer.peerAddress;
  }

  get clientCertificate(): ClientCertificate | undefined {
    return this.peer.clientCertificate;
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

  /** The client waits for leave to send its body. */
  awaitLeave(): void {
    const sayContinue = () => {
      if (!this.closed && !this.headersSent) this.stream.additionalHeaders({ ':status': 100 });
    };
    this.#body = continueOnRead(this.stream, sayContinue, this.peer.context.logger);
  }
}
