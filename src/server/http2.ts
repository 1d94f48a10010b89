/**
 * HTTP/2 on the listener: each stream becomes an exchange. The bounds are those a peer is told of in SETTINGS and
 * those it is not: resets (CVE-2023-44487), control frames and time (`http2-watch.ts`); Node bounds a session's
 * memory. Extended CONNECT is not offered, so upgrades come over HTTP/1.1, as every Kubernetes client does them.
 * A Node older than its fix of CVE-2026-21714 keeps sessions whose window overflowed: run a patched release.
 * RFC 9113.
 */
import { constants, performServerHandshake, type ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { StatusError } from '../errors/status-error.ts';
import { headerValue } from '../lib/header-list.ts';
import { TimeoutQueue } from '../lib/timeout-queue.ts';
import { Http2Exchange } from './http2-exchange.ts';
import { WITH_PADDED_FIELDS } from './http2-fields.ts';
import type { Http2Peer } from './http2-peer.ts';
import { MAX_CONCURRENT_STREAMS, SessionWatch } from './http2-watch.ts';
import { refuse, type ServeContext, serveGuarded } from './serve-context.ts';

/** What one stream may send ahead, and what all of a connection together may. */
const STREAM_WINDOW = 256 * 1024;
const CONNECTION_WINDOW = 1024 * 1024;

/** Speaks HTTP/2 on a socket whose client chose it by ALPN. */
export function serveHttp2(socket: TLSSocket, context: ServeContext): ServerHttp2Session {
  const session = performServerHandshake(socket, {
    settings: {
      maxConcurrentStreams: MAX_CONCURRENT_STREAMS,
      initialWindowSize: STREAM_WINDOW,
      // Twice the limit, so that a head just beyond it gets a Status instead of a reset.
      maxHeaderListSize: 2 * context.headerBytes,
    },
    maxHeaderListPairs: 2_000,
    ...WITH_PADDED_FIELDS,
  });
  const peer: Http2Peer = {
    session,
    peerAddress: socket.remoteAddress,
    clientCertificate: context.certificateOf(socket),
    stallQueue: new TimeoutQueue(context.clock, context.timeouts.stall),
    watch: new SessionWatch(session, socket, context),
    context,
  };
  session.on('error', (error) => context.logger.debug({ error }, 'an HTTP/2 connection broke'));
  session.on('stream', (stream, headers, _flags, rawHeaders) => {
    serve(new Http2Exchange(stream, headers, rawHeaders, peer), context);
  });
  session.once('close', () => peer.stallQueue.stop());
  session.once('connect', () => session.setLocalWindowSize(CONNECTION_WINDOW));
  return session;
}

function serve(exchange: Http2Exchange, context: ServeContext): void {
  try {
    checkHead(exchange, context.headerBytes);
  } catch (error) {
    refuse(exchange, error, context);
    return;
  }
  if (headerValue(exchange.headers, 'expect') !== undefined) exchange.awaitLeave();
  serveGuarded(exchange, context);
}

/** @throws StatusError MethodNotAllowed, ExpectationFailed or HeadersTooLarge */
function checkHead({ method, target, headers }: Http2Exchange, limit: number): void {
  if (method === constants.HTTP2_METHOD_CONNECT)
    throw new StatusError('MethodNotAllowed', 'CONNECT is not supported');
  let bytes = target.length;
  for (const [name, value] of headers) bytes += name.length + value.length + 4;
  if (bytes > limit) throw new StatusError('HeadersTooLarge', 'the request header fields are too large');
  const expectation = headerValue(headers, 'expect');
  if (expectation !== undefined && expectation.toLowerCase() !== '100-continue')
    throw new StatusError('ExpectationFailed', 'the only expectation understood is 100-continue');
}
