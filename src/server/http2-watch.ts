/**
 * Ends HTTP/2 connections that Node's own limits let live for ever: one that never says the preface, one that
 * begins a request head and does not finish it, one without a request for too long, one that takes its requests
 * back as fast as it makes them (CVE-2023-44487), and one that sends nothing but control frames. HTTP/2 connections
 * escape `headersTimeout`, and `idle-guard.ts` knows HTTP/1 alone. It also frees what a reset leaves behind, and the
 * socket of a session that is destroyed and cannot close.
 * RFC 9113 §10.5.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { ListenerTimeouts } from './serve-context.ts';

/** As kube-apiserver offers them. */
export const MAX_CONCURRENT_STREAMS = 100;
/**
 * Requests taken back between two looks. Node's own bound acts only after all that arrived at once was begun, which
 * may be thousands.
 */
const MAX_RESETS = 300;
/** PING and SETTINGS frames between two looks: clients send one PING in half a minute. */
const MAX_CONTROL_FRAMES = 200;

export interface SessionWatchOptions {
  readonly timeouts: ListenerTimeouts;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Looks after a session until it closes. It is to be told of the session's streams. */
export class SessionWatch {
  readonly #session: ServerHttp2Session;
  readonly #socket: TLSSocket;
  readonly #options: SessionWatchOptions;
  readonly #open = new Set<ServerHttp2Stream>();
  #settled = false;
  #controlFrames = 0;
  #resets = 0;
  #lastStream = 0;
  #unfinishedHead = 0;
  /** Milliseconds since the epoch. */
  #idleSince: number;
  #timer: Timer;

  constructor(session: ServerHttp2Session, socket: TLSSocket, options: SessionWatchOptions) {
    const { clock, timeouts } = options;
    this.#session = session;
    this.#socket = socket;
    this.#options = options;
    this.#idleSince = clock.now();
    this.#timer = clock.after(timeouts.header, this.#look);
    session.on('remoteSettings', () => {
      this.#settled = true;
      this.#control();
    });
    session.on('ping', () => this.#control());
    session.once('close', () => this.#timer.cancel());
  }

  begun(stream: ServerHttp2Stream): void {
    this.#lastStream = stream.id ?? this.#lastStream;
    this.#open.add(stream);
    if (this.#open.size > MAX_CONCURRENT_STREAMS) this.#sweep();
  }

  /** Its client took one back. */
  reset(): void {
    this.#resets += 1;
    if (this.#resets > MAX_RESETS && !this.#session.destroyed)
      this.#breakOff('flood of resets', constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  closed(stream: ServerHttp2Stream): void {
    this.#open.delete(stream);
    this.#idleSince = this.#options.clock.now();
  }

  #control(): void {
    this.#controlFrames += 1;
    if (this.#controlFrames > MAX_CONTROL_FRAMES && !this.#session.destroyed)
      this.#breakOff('flood of control frames', constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  /** What the client took back after its answer was complete but unsent closes by itself only when that is sent: never. */
  #sweep(): void {
    for (const stream of this.#open) if (stream.closed) stream.destroy();
  }

  readonly #look = (): void => {
    // Its last words do not get out, and Node waits for that for ever: the client reads nothing, or has gone meanwhile.
    if (this.#session.destroyed) {
      this.#socket.destroy();
      return;
    }
    const { clock, timeouts } = this.#options;
    this.#timer = clock.after(Math.min(timeouts.header, timeouts.idle), this.#look);
    this.#sweep();
    this.#controlFrames = 0;
    this.#resets = 0;
    const begun = this.#session.state.lastProcStreamID ?? 0;
    const stuck = begun > this.#lastStream && begun === this.#unfinishedHead;
    this.#unfinishedHead = begun > this.#lastStream ? begun : 0;
    if (!this.#settled) this.#breakOff('no preface', constants.NGHTTP2_PROTOCOL_ERROR);
    else if (stuck) this.#breakOff('unfinished request head', constants.NGHTTP2_ENHANCE_YOUR_CALM);
    else if (this.#open.size === 0 && clock.now() - this.#idleSince >= timeouts.idle) this.#sayGoodbye();
  };

  #sayGoodbye(): void {
    // Its second time: the goodbye does not get out to a client that reads nothing.
    if (this.#session.closed) this.#socket.destroy();
    else this.#session.close();
    this.#idleSince = this.#options.clock.now();
  }

  #breakOff(reason: string, code: number): void {
    this.#options.logger.debug({ reason }, 'an HTTP/2 connection was broken off');
    this.#session.goaway(code);
    this.#session.destroy();
  }
}
