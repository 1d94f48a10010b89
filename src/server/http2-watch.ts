/**
 * Ends HTTP/2 connections that Node's own limits let live for ever: one that never says the preface, one that
 * begins a request head and does not finish it, one without a request for too long, one that takes its requests
 * back as fast as it makes them (CVE-2023-44487), and one that sends nothing but control frames. HTTP/2 connections
 * escape `headersTimeout` and `keepAliveTimeout`. It also frees what a reset leaves behind.
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

/** To be told of the session's streams. */
export interface SessionWatch {
  begun(stream: ServerHttp2Stream): void;
  /** Its client took one back. */
  reset(): void;
  closed(stream: ServerHttp2Stream): void;
}

/** Looks after the session until it closes. */
export function watchSession(
  session: ServerHttp2Session,
  socket: TLSSocket,
  { timeouts, clock, logger }: SessionWatchOptions,
): SessionWatch {
  let settled = false;
  let controlFrames = 0;
  let resets = 0;
  const open = new Set<ServerHttp2Stream>();
  let lastStream = 0;
  let unfinishedHead = 0;
  let idleSince = clock.now();
  let timer: Timer;

  const breakOff = (reason: string, code: number) => {
    logger.debug({ reason }, 'an HTTP/2 connection was broken off');
    session.goaway(code);
    session.destroy();
    // What a client that reads nothing leaves unsent would hold the socket for ever.
    timer.cancel();
    timer = clock.after(timeouts.header, () => socket.destroy());
  };
  const control = () => {
    controlFrames += 1;
    if (controlFrames > MAX_CONTROL_FRAMES && !session.destroyed)
      breakOff('flood of control frames', constants.NGHTTP2_ENHANCE_YOUR_CALM);
  };
  /** What the client took back after its answer was complete but unsent closes by itself only when that is sent: never. */
  const sweep = () => {
    for (const stream of open) if (stream.closed) stream.destroy();
  };
  const look = () => {
    sweep();
    controlFrames = 0;
    resets = 0;
    const begun = session.state.lastProcStreamID ?? 0;
    const stuck = begun > lastStream && begun === unfinishedHead;
    unfinishedHead = begun > lastStream ? begun : 0;
    if (!settled) breakOff('no preface', constants.NGHTTP2_PROTOCOL_ERROR);
    else if (stuck) breakOff('unfinished request head', constants.NGHTTP2_ENHANCE_YOUR_CALM);
    else if (open.size === 0 && clock.now() - idleSince >= timeouts.idle) {
      // Its second time: the goodbye does not get out to a client that reads nothing.
      if (session.closed) socket.destroy();
      else session.close();
      idleSince = clock.now();
    }
    if (!session.destroyed) timer = clock.after(Math.min(timeouts.header, timeouts.idle), look);
  };

  session.on('remoteSettings', () => {
    settled = true;
    control();
  });
  session.on('ping', control);
  timer = clock.after(timeouts.header, look);
  session.once('close', () => timer.cancel());

  return {
    begun(stream) {
      lastStream = stream.id ?? lastStream;
      open.add(stream);
      if (open.size > MAX_CONCURRENT_STREAMS) sweep();
    },
    reset() {
      resets += 1;
      if (resets > MAX_RESETS && !session.destroyed)
        breakOff('flood of resets', constants.NGHTTP2_ENHANCE_YOUR_CALM);
    },
    closed(stream) {
      open.delete(stream);
      idleSince = clock.now();
    },
  };
}
