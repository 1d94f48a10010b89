/**
 * HTTP/2 on the listener: each stream becomes an exchange. The limits are in SETTINGS and in
 * `http2-session-guard.ts`; Node limits a session's memory. Extended CONNECT is not offered: Kubernetes
 * clients upgrade over HTTP/1.1.
 * RFC 9113.
 */
import { constants, performServerHandshake, type ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { StatusError } from '../errors/status-error.ts';
import { headerValue } from '../lib/header-list.ts';
import { STREAM_WINDOW } from '../limits/memory-bounds.ts';
import { MAX_FIELDS } from './http1-head.ts';
import { type Http2Connection, Http2Exchange } from './http2-exchange.ts';
import { ACCEPT_PADDED_VALUES } from './http2-headers.ts';
import { MAX_CONCURRENT_STREAMS, SessionGuard } from './http2-session-guard.ts';
import { refuse, type ServeContext, serveGuarded } from './serve-context.ts';

/** The flow-control window of all streams together. */
const CONNECTION_WINDOW = 1024 * 1024;
/**
 * Serves HTTP/2 on a socket whose client chose it by ALPN. Requires a Node release with the fix of
 * CVE-2026-21714: older ones keep sessions whose flow-control window overflowed.
 */
export function serveHttp2(socket: TLSSocket, context: ServeContext): ServerHttp2Session {
  const session = performServerHandshake(socket, {
    settings: {
      maxConcurrentStreams: MAX_CONCURRENT_STREAMS,
      initialWindowSize: STREAM_WINDOW,
      // Twice the limit, so that a slightly larger head gets a Status instead of a reset.
      maxHeaderListSize: 2 * context.headerBytes,
    },
    maxHeaderListPairs: MAX_FIELDS,
    ...ACCEPT_PADDED_VALUES,
  });
  const connection: Http2Connection = {
    session,
    peerAddress: socket.remoteAddress,
    clientCertificate: context.certificateOf(socket),
    guard: new SessionGuard(session, socket, context),
    context,
  };
  session.on('error', (error) => context.logger.debug({ error }, 'an HTTP/2 connection failed'));
  session.on('stream', (stream, headers, _flags, rawHeaders) => {
    serve(new Http2Exchange(stream, headers, rawHeaders, connection), context);
  });
  session.once('stream', () => {
    if (context.draining.cancelled) sendGoAway(session);
  });
  session.once('close', () => context.stallQueue.stopIfEmpty());
  session.once('connect', () => session.setLocalWindowSize(CONNECTION_WINDOW));
  return session;
}

/**
 * Asks the client to open its next stream on another connection. Streams that have arrived are served; the
 * client learns which was the last, and may send the others again. RFC 9113 §6.8.
 */
export function sendGoAway(session: ServerHttp2Session): void {
  if (!session.closed && !session.destroyed) session.goaway(constants.NGHTTP2_NO_ERROR);
}

function serve(exchange: Http2Exchange, context: ServeContext): void {
  try {
    checkHead(exchange, context.headerBytes);
  } catch (error) {
    refuse(exchange, error, context);
    return;
  }
  if (headerValue(exchange.headers, 'expect') !== undefined) exchange.expectContinue();
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
