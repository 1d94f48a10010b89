/**
 * One HTTP request and the way to respond to it, the same for HTTP/1.1, HTTP/2 and upgrade requests. The
 * listeners implement it; the proxy and the client of the API server use it.
 */
import type { Duplex, Readable } from 'node:stream';
import type { Cancellation } from './cancellation.ts';
import type { ClientCertificate } from './client-certificate.ts';
import type { HeaderList } from './header-list.ts';

/** One request and the way to respond to it, the same for HTTP/1.1, HTTP/2 and upgrade requests. */
export interface Exchange {
  readonly method: string;
  /** The request target as sent: path and query. */
  readonly target: string;
  readonly headers: HeaderList;
  readonly httpVersion: string;
  /** Identifies the connection: one object for all of its requests; absent if the listener has none. */
  readonly connection?: object;
  /** The peer's address; undefined if the connection is already closed. */
  readonly peerAddress: string | undefined;
  /** Read or pause the body before the response's head is sent: an untouched body is discarded then. */
  readonly body: Readable;
  /** Bytes of the body so far, which its reader adds; of a tunnel, all bytes after the request's head. */
  bytesReceived: number;
  readonly response: ResponseWriter;
  /** Present if client certificates are accepted as credentials and the client sent one. */
  readonly clientCertificate?: ClientCertificate | undefined;
  /** Aborted when the client is gone before the response is complete. */
  readonly signal: AbortSignal;
  /** The same event as `signal`, but cheaper to listen to; present if the listener has it. */
  readonly cancellation?: Cancellation;
  /**
   * Cancelled when the server is about to stop: a response without an end of its own (a watch, a followed
   * log) is to be ended cleanly now. Others finish.
   */
  readonly stopping?: Cancellation;
  /** Present if the client asks to leave HTTP (RFC 9110 §7.8). */
  readonly upgrade?: Upgrade;
}

export interface Upgrade {
  /** Lower-cased: `spdy/3.1`, `websocket`. */
  readonly protocol: string;
  readonly socket: Duplex;
  /** What the client sent behind its request head. */
  readonly head: Buffer;
}

export interface ResponseWriter {
  readonly headersSent: boolean;
  /**
   * True once the response is complete or the client is gone. A response with a Content-Length may be
   * complete with the last byte that is written, before `end`.
   */
  readonly closed: boolean;
  /** Bytes of the body so far; of a tunnel, all bytes from the response's head on. */
  readonly bytesSent: number;
  /**
   * @param headers hop-by-hop fields and repeats of single-value fields already removed: HTTP/2 throws on
   *   them
   */
  writeHead(status: number, headers: HeaderList): void;
  /**
   * @param onTaken called once, when the chunk's memory is no longer used; perhaps never, if the client is
   *   gone
   * @returns false if the client reads more slowly than this: wait for `onDrain`
   */
  write(chunk: Uint8Array, onTaken?: () => void): boolean;
  /** Calls back once when there is room again. */
  onDrain(callback: () => void): void;
  end(chunk?: Uint8Array | string): void;
  /** Aborts the response: the connection over HTTP/1.1, the stream over HTTP/2. */
  destroy(): void;
}
