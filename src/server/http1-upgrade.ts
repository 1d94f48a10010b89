/**
 * Requests to leave HTTP. Node hands over the bare socket; the answer to a refused one is still an HTTP response,
 * written through a ServerResponse of our own, after which the socket closes. CONNECT is always refused: Stonegate
 * is no forward proxy.
 * RFC 9110 §7.8, §9.3.6.
 */
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { StatusError } from '../errors/status-error.ts';
import { fromRawHeaders, headerTokens } from '../lib/header-list.ts';
import { AnswerState } from './answer-state.ts';
import type { Http1Connection } from './http1-connection.ts';
import { checkHttp1Head, checkUpgradeHead } from './http1-head.ts';
import { Http1Response } from './http1-response.ts';
import { refuse, type ServeContext, serveGuarded } from './serve-context.ts';

export function serveHttp1Upgrades(
  server: Server,
  connectionOf: (socket: Duplex) => Http1Connection,
  context: ServeContext,
): void {
  server.on('upgrade', (request, socket, head) => {
    const connection = connectionOf(socket);
    const accepted = accept(request, socket, connection, context);
    if (accepted === undefined) return;
    const { state, writer } = accepted;
    const { peerAddress, clientCertificate } = connection;
    const { method = '', url: target = '', httpVersion } = request;
    const headers = fromRawHeaders(request.rawHeaders);
    try {
      checkHttp1Head(httpVersion, headers);
      checkUpgradeHead(headers);
    } catch (error) {
      refuse(writer, error, context);
      return;
    }
    const protocol = headerTokens(headers, 'upgrade')[0] ?? '';
    void serveGuarded(
      {
        method,
        target,
        headers,
        httpVersion,
        peerAddress,
        clientCertificate,
        body: Readable.from([]),
        response: writer,
        signal: state.signal,
        get draining() {
          return state.draining;
        },
        upgrade: { protocol, socket, head },
      },
      context,
    );
  });
  server.on('connect', (request, socket) => {
    const accepted = accept(request, socket, connectionOf(socket), context);
    if (accepted === undefined) return;
    refuse(accepted.writer, new StatusError('MethodNotAllowed', 'CONNECT is not supported'), context);
  });
}

function accept(
  request: IncomingMessage,
  socket: Duplex,
  connection: Http1Connection,
  context: ServeContext,
): { state: AnswerState; writer: Http1Response } | undefined {
  socket.on('error', (error) => context.logger.debug({ error }, 'an upgraded connection broke'));
  // Behind an answer still owed, the new protocol's bytes and the old answer's would be mixed.
  if (!(socket instanceof Socket) || connection.refused || connection.pending > 0) {
    socket.destroy();
    return undefined;
  }
  // It may still watch an earlier answer; a tunnel may be as slow as it likes.
  connection.guard.stop();
  const response = new ServerResponse(request);
  const state = new AnswerState(context.open, context.draining.aborted);
  connection.owe(state, response);
  const writer = new Http1Response({
    response,
    socket,
    state,
    drains: socket,
    guard: connection.guard,
    beforeHead: () => {
      if (response.socket !== socket) response.assignSocket(socket);
    },
  });
  writer.closeAfter();
  response.once('finish', () => {
    response.detachSocket(socket);
    socket.destroySoon();
  });
  return { state, writer };
}
