/**
 * HTTP/2 on the listener: each stream becomes an exchange. The bounds are those a peer is told of in SETTINGS and
 * those it is not: resets (CVE-2023-44487), control frames and time (`http2-watch.ts`); Node bounds a session's
 * memory. Extended CONNECT is not offered, so upgrades come over HTTP/1.1, as every Kubernetes client does them.
 * A Node older than its fix of CVE-2026-21714 keeps sessions whose window overflowed: run a patched release.
 * RFC 9113.
 */
import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { StatusError } from '../errors/status-error.ts';
import { fromRawHeaders, type HeaderList, headerValue } from '../lib/header-list.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { AnswerState } from './answer-state.ts';
import { continueOnRead } from './expect-continue.ts';
import { Http2Response } from './http2-response.ts';
import { MAX_CONCURRENT_STREAMS, watchSession } from './http2-watch.ts';
import { refuse, type ServeContext, serveGuarded } from './serve-context.ts';
import { ServedExchange } from './served-exchange.ts';

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
  });
  const peer = { peerAddress: socket.remoteAddress, clientCertificate: context.certificateOf(socket) };
  session.on('error', (error) => context.logger.debug({ error }, 'an HTTP/2 connection broke'));
  session.on('stream', (stream, headers, _flags, rawHeaders) => {
    serveStream(stream, headers, fromRawHeaders(rawHeaders), peer, context);
  });
  session.once('connect', () => session.setLocalWindowSize(CONNECTION_WINDOW));
  watchSession(session, socket, context);
  return session;
}

function serveStream(
  stream: ServerHttp2Stream,
  pseudo: IncomingHttpHeaders,
  headers: HeaderList,
  peer: Required<Pick<Exchange, 'peerAddress' | 'clientCertificate'>>,
  context: ServeContext,
): void {
  const method = pseudo[':method'] ?? '';
  const target = pseudo[':path'] ?? '';
  const state = new AnswerState(context.open, context.draining.aborted);
  const response = new Http2Response(stream, state, method, context);
  stream.on('error', (error) => context.logger.debug({ error }, 'an HTTP/2 stream broke'));
  // A reset with NO_ERROR closes a stream only when its last write is done, which waits for a window nobody opens.
  stream.once('aborted', () => {
    state.abandon();
    stream.destroy();
  });
  stream.once('close', () => state.abandon());
  try {
    checkHead(method, target, headers, context.headerBytes);
  } catch (error) {
    refuse(response, error, context);
    return;
  }
  const body = bodyOf(stream, headers, response, context);
  const given = { method, target, headers, httpVersion: '2.0', ...peer, body, response };
  void serveGuarded(new ServedExchange(given, state), context);
}

/** @throws StatusError MethodNotAllowed, ExpectationFailed or HeadersTooLarge */
function checkHead(method: string, target: string, headers: HeaderList, limit: number): void {
  if (method === constants.HTTP2_METHOD_CONNECT)
    throw new StatusError('MethodNotAllowed', 'CONNECT is not supported');
  const bytes = headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, target.length);
  if (bytes > limit) throw new StatusError('HeadersTooLarge', 'the request header fields are too large');
  const expectation = headerValue(headers, 'expect');
  if (expectation !== undefined && expectation.toLowerCase() !== '100-continue')
    throw new StatusError('ExpectationFailed', 'the only expectation understood is 100-continue');
}

function bodyOf(
  stream: ServerHttp2Stream,
  headers: HeaderList,
  response: Http2Response,
  { logger }: ServeContext,
): Readable {
  if (headerValue(headers, 'expect') === undefined) return stream;
  const sayContinue = () => {
    if (!response.closed && !response.headersSent) stream.additionalHeaders({ ':status': 100 });
  };
  return continueOnRead(stream, sayContinue, logger);
}
