/**
 * Closes HTTP/2 connections that Node's own limits keep open: with an unfinished request head, without
 * requests, or with a flood of resets (CVE-2023-44487). It also frees streams that a reset left behind, and
 * the socket of a destroyed session that cannot close.
 * RFC 9113 §10.5.
 */

import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Timer } from '../lib/clock.ts';
import type { Runtime } from '../lib/runtime.ts';
import type { ListenerTimeouts } from './serve-context.ts';
import type { HeadReader, UnfinishedHeads } from './unfinished-heads.ts';

/** The limit that kube-apiserver has too. */
export const MAX_CONCURRENT_STREAMS = 100;
/**
 * Stream resets between two checks. Node's own limit acts only after all requests that arrived at once were
 * started, which may be thousands.
 */
const MAX_RESETS = 300;

export interface SessionGuardOptions extends Pick<Runtime, 'clock' | 'logger'> {
  readonly timeouts: ListenerTimeouts;
  readonly heads: UnfinishedHeads;
}

/** Guards a session until it closes. */
export class SessionGuard implements HeadReader {
  readonly #session: ServerHttp2Session;
  readonly #socket: TLSSocket;
  readonly #options: SessionGuardOptions;
  readonly #open = new Set<ServerHttp2Stream>();
  #resets = 0;
  #lastStreamID = 0;
  #unfinishedStreamID = 0;
  #bytesSeen = 0;
  #readsHead = false;
  /** Milliseconds since the epoch. */
  #idleSince: number;
  #timer: Timer;

  constructor(session: ServerHttp2Session, socket: TLSSocket, options: SessionGuardOptions) {
    const { clock, timeouts } = options;
    this.#session = session;
    this.#socket = socket;
    this.#options = options;
    this.#idleSince = clock.now();
    this.#timer = clock.after(timeouts.header, this.#check);
    options.heads.add(this);
    session.once('close', () => {
      options.heads.delete(this);
      this.#timer.cancel();
    });
  }

  streamOpened(stream: ServerHttp2Stream): void {
    this.#lastStreamID = stream.id ?? this.#lastStreamID;
    this.#open.add(stream);
    if (this.#open.size > MAX_CONCURRENT_STREAMS) this.#destroyClosedStreams();
  }

  /** Asks the session only after bytes have arrived: its state takes ten times as long to read. */
  get readsHead(): boolean {
    const { bytesRead } = this.#socket;
    if (bytesRead === this.#bytesSeen) return this.#readsHead;
    this.#bytesSeen = bytesRead;
    this.#readsHead = (this.#session.state.lastProcStreamID ?? 0) > this.#lastStreamID;
    return this.#readsHead;
  }

  destroy(): void {
    this.#terminate('unfinished request head');
  }

  /** Call if the client reset a stream. */
  streamReset(): void {
    this.#resets += 1;
    if (this.#resets > MAX_RESETS && !this.#session.destroyed) this.#terminate('flood of resets');
  }

  streamClosed(stream: ServerHttp2Stream): void {
    this.#open.delete(stream);
    this.#idleSince = this.#options.clock.now();
  }

  /** A stream that was reset after its response was complete but unsent would otherwise never close. */
  #destroyClosedStreams(): void {
    for (const stream of this.#open) if (stream.closed) stream.destroy();
  }

  readonly #check = (): void => {
    // Node waits until its last frames are sent; a client that reads nothing would keep the socket open.
    if (this.#session.destroyed) {
      this.#socket.destroy();
      return;
    }
    const { clock, timeouts } = this.#options;
    this.#timer = clock.after(Math.min(timeouts.header, timeouts.idle), this.#check);
    this.#destroyClosedStreams();
    this.#resets = 0;
    const unfinished = this.readsHead ? (this.#session.state.lastProcStreamID ?? 0) : 0;
    const stuck = unfinished > 0 && unfinished === this.#unfinishedStreamID;
    this.#unfinishedStreamID = unfinished;
    if (stuck) this.destroy();
    else if (this.#open.size === 0 && clock.now() - this.#idleSince >= timeouts.idle) this.#sendGoaway();
  };

  #sendGoaway(): void {
    // The second time, the client has not read the GOAWAY of the first.
    if (this.#session.closed) this.#socket.destroy();
    else this.#session.close();
    this.#idleSince = this.#options.clock.now();
  }

  #terminate(reason: string): void {
    this.#options.logger.debug({ reason }, 'an HTTP/2 connection was closed');
    this.#session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.#session.destroy();
  }
}
