/** An exchange without a socket: what a listener passes to the pipeline, and the response it receives. */
import { Readable } from 'node:stream';
import type { Exchange, ResponseWriter, Upgrade } from '../../src/lib/exchange.ts';
import { type HeaderField, type HeaderList, headerValue } from '../../src/lib/header-list.ts';
import type { ExchangeFacts } from '../../src/proxy/authorizer.ts';

export interface FakeResponse extends ResponseWriter {
  readonly status: number;
  readonly headers: HeaderList;
  readonly text: string;
  readonly destroyed: boolean;
  /** The body, parsed as JSON. */
  json(): unknown;
}

export interface FakeExchange extends Exchange {
  readonly response: FakeResponse;
  /** Simulates a client that disconnects. */
  leave(): void;
}

interface FakeOptions {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: HeaderList;
  readonly peerAddress?: string;
  readonly body?: string | Buffer;
  readonly upgrade?: Upgrade;
}

export function fakeExchange(options: FakeOptions = {}): FakeExchange {
  const client = new AbortController();
  const response = fakeResponse(() => client.signal.aborted);
  return {
    method: options.method ?? 'GET',
    target: options.target ?? '/api/v1/namespaces/default/pods',
    headers: options.headers ?? [],
    httpVersion: '1.1',
    peerAddress: options.peerAddress ?? '192.0.2.7',
    body: Readable.from(options.body === undefined ? [] : [Buffer.from(options.body)]),
    bytesReceived: 0,
    response,
    signal: client.signal,
    ...(options.upgrade === undefined ? {} : { upgrade: options.upgrade }),
    leave: () => client.abort(),
  };
}

/** The facts about a request that authorizers receive. */
export function askedExchange(method = 'GET', protocol?: string): ExchangeFacts {
  return {
    method,
    headers: [],
    signal: new AbortController().signal,
    ...(protocol === undefined ? {} : { upgrade: { protocol } }),
  };
}

function fakeResponse(clientIsGone: () => boolean): FakeResponse {
  let status = 0;
  let headers: HeaderField[] = [];
  let ended = false;
  let destroyed = false;
  const chunks: Buffer[] = [];
  return {
    get headersSent() {
      return status !== 0;
    },
    get closed() {
      return ended || destroyed || clientIsGone();
    },
    get status() {
      return status;
    },
    get headers() {
      return headers;
    },
    get bytesSent() {
      return Buffer.concat(chunks).length;
    },
    get destroyed() {
      return destroyed;
    },
    get text() {
      return Buffer.concat(chunks).toString();
    },
    json() {
      const value: unknown = JSON.parse(this.text);
      return value;
    },
    writeHead(code, list) {
      if (status !== 0) throw new Error('the head was written twice');
      status = code;
      headers = [...list];
    },
    // As in a listener, the last byte of a declared length completes the response.
    write(chunk) {
      chunks.push(Buffer.from(chunk));
      const length = headerValue(headers, 'content-length');
      if (length !== undefined && Buffer.concat(chunks).length >= Number(length)) ended = true;
      return true;
    },
    onDrain(callback) {
      queueMicrotask(callback);
    },
    end(chunk) {
      if (chunk !== undefined) chunks.push(Buffer.from(chunk));
      ended = true;
    },
    destroy() {
      destroyed = true;
    },
  };
}
