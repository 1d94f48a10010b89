/**
 * The port to the listener: one request and the way to answer it, the same for HTTP/1.1, HTTP/2 and a request to
 * upgrade. Implemented in `server/`.
 */
import type { Duplex, Readable } from 'node:stream';
import type { ClientCertificate } from '../api/credentials.ts';
import type { Cancellation } from '../lib/cancellation.ts';
import type { HeaderList } from '../lib/header-list.ts';

export interface Exchange {
  readonly method: string;
  /** The request target as sent: path and query. */
  readonly target: string;
  readonly headers: HeaderList;
  readonly httpVersion: string;
  /** The same object for all requests of one connection; absent where there is none to tell apart. */
  readonly connection?: object;
  /** The peer's address; undefined where the connection is already gone. */
  readonly peerAddress: string | undefined;
  /** Whoever wants it has begun to read it, or paused it, before the answer's head: an untouched one is thrown away then. */
  readonly body: Readable;
  readonly response: ResponseWriter;
  /** Present where clients are asked for a certificate as their credential, and this one gave one. */
  readonly clientCertificate?: ClientCertificate | undefined;
  /** Aborted when the client is gone before the answer is complete. */
  readonly signal: AbortSignal;
  /** The same, cheaper to listen to; present where the listener has it. */
  readonly cancellation?: Cancellation;
  /**
   * Aborted when the server is about to stop: an answer that has no end of its own (a watch, a followed log) is
   * to be ended now, in good order. Others simply finish.
   */
  readonly draining?: AbortSignal;
  /** Present where the client asks to leave HTTP (RFC 9110 §7.8). */
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
  /** True once the answer is complete or the client is gone. */
  readonly closed: boolean;
  /**
   * @param headers hop-by-hop fields and repeats of single-value fields already removed: HTTP/2 throws on them
   */
  writeHead(status: number, headers: HeaderList): void;
  /**
   * @param onTaken called once, when the chunk's memory is not used any more; perhaps never, as where the client leaves
   * @returns false where the client reads slower than this: wait for `onDrain`
   */
  write(chunk: Uint8Array, onTaken?: () => void): boolean;
  /** Calls back once when there is room again. */
  onDrain(callback: () => void): void;
  end(chunk?: Uint8Array | string): void;
  /** Breaks the answer off: the connection over HTTP/1.1, the stream over HTTP/2. */
  destroy(): void;
}
