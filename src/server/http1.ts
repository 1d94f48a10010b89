/**
 * HTTP/1.1 on the listener: Node's events become exchanges. Node's parser stays strict (`insecureHTTPParser` is
 * never set): two lengths, folded fields and bare line feeds are refused before anything of ours sees them.
 * RFC 9112.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { StatusError } from '../errors/status-error.ts';
import { fromRawHeaders, type HeaderList } from '../lib/header-list.ts';
import { AnswerState } from './answer-state.ts';
import { continueOnRead } from './expect-continue.ts';
import { createHttp1Connections, type Http1Connection } from './http1-connection.ts';
import { announcesBody, checkHttp1Head } from './http1-head.ts';
import { refuseBytes } from './http1-refusal.ts';
import { Http1Response } from './http1-response.ts';
import { serveHttp1Upgrades } from './http1-upgrade.ts';
import { refuse, type ServeContext, serveGuarded } from './serve-context.ts';
import { ServedExchange } from './served-exchange.ts';
import { discardRest, isUntouched, limitRest } from './unread-body.ts';

/** No Kubernetes client pipelines; this many unanswered requests on one connection are an attack. */
const MAX_PIPELINED = 8;

interface Accepted {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly headers: HeaderList;
  readonly connection: Http1Connection;
  readonly state: AnswerState;
  readonly writer: Http1Response;
}

/** Serves what arrives on the server's connections, once they are given to it. */
export function serveHttp1(server: Server, context: ServeContext): void {
  const connectionOf = createHttp1Connections(context);
  const acceptFrom = (request: IncomingMessage, response: ServerResponse): Accepted | undefined =>
    accept(request, response, connectionOf(request.socket), context);

  server.on('request', (request, response) => {
    const accepted = acceptFrom(request, response);
    if (accepted) serveInTurn(accepted, context, () => request);
  });
  server.on('checkContinue', (request, response) => {
    const accepted = acceptFrom(request, response);
    if (accepted) serveInTurn(accepted, context, () => awaitedBody(accepted, context));
  });
  server.on('checkExpectation', (request, response) => {
    const accepted = acceptFrom(request, response);
    if (!accepted) return;
    accepted.connection.refused = true;
    accepted.writer.closeAfter();
    const refusal = new StatusError('ExpectationFailed', 'the only expectation understood is 100-continue');
    refuse(accepted.writer, refusal, context);
  });
  server.on('clientError', (error, socket) => refuseBytes(error, socket, connectionOf(socket), context));
  serveHttp1Upgrades(server, connectionOf, context);
}

function serveInTurn(accepted: Accepted, context: ServeContext, body: () => Readable): void {
  const { connection, state, request, headers } = accepted;
  // While its body lies unread nobody would notice that the client has left; so it does not lie for long.
  const limit =
    connection.waits(state) && announcesBody(headers)
      ? context.clock.after(context.timeouts.header, () => request.socket.destroy())
      : undefined;
  connection.serveInTurn(state, () => {
    limit?.cancel();
    void serveGuarded(exchangeOf(accepted, body()), context);
  });
}

/** @returns undefined where the request is not served: it is refused already, or its connection ends */
function accept(
  request: IncomingMessage,
  response: ServerResponse,
  connection: Http1Connection,
  context: ServeContext,
): Accepted | undefined {
  const { socket } = request;
  // The refusal on its way ends the connection; what was sent behind it is nobody's request (RFC 9112 §9.6).
  if (connection.refused) return undefined;
  if (connection.pending >= MAX_PIPELINED) {
    socket.destroy();
    return undefined;
  }
  const headers = fromRawHeaders(request.rawHeaders);
  const state = new AnswerState(context.open, context.draining.aborted);
  const writer = new Http1Response({
    response,
    socket,
    state,
    drains: response,
    guard: connection.guard,
    beforeHead: () => {
      if (context.draining.aborted) writer.closeAfter();
      if (!request.complete && isUntouched(request)) discard();
    },
  });
  let discarded = false;
  const discard = () => {
    if (!discarded) discardRest(request, socket);
    discarded = true;
  };
  connection.owe(state, response);
  // Each is emitted once; 'on', since 'once' makes a wrapper and takes it off again.
  // Before 'finish', where Node would begin to throw away the rest of the body without any bound.
  if (announcesBody(headers))
    response.on('prefinish', () => {
      if (request.complete) return;
      discard();
      limitRest(request, socket, context.clock, context.timeouts.header);
    });
  response.on('finish', () => {
    if (request.complete) closeWhenDraining(connection, socket, context);
    else request.once('end', () => closeWhenDraining(connection, socket, context));
  });
  // A body that breaks off is told to the server by `signal`; without a listener it would be an uncaught error.
  request.on('error', (error) => context.logger.debug({ error }, 'a request broke off'));
  try {
    checkHttp1Head(request.httpVersion, headers);
  } catch (error) {
    connection.refused = true;
    writer.closeAfter();
    refuse(writer, error, context);
    return undefined;
  }
  return { request, response, headers, connection, state, writer };
}

/** A listener that stops keeps no connection that owes nothing. */
function closeWhenDraining(connection: Http1Connection, socket: Socket, { draining }: ServeContext): void {
  if (draining.aborted && connection.pending === 0) socket.destroySoon();
}

/** The body of a client that waits for leave to send it; without the leave, the connection ends with the answer. */
function awaitedBody({ request, response, writer }: Accepted, { logger }: ServeContext): Readable {
  const { shouldKeepAlive } = response;
  writer.closeAfter();
  const sayContinue = () => {
    if (writer.closed || response.headersSent) return;
    response.shouldKeepAlive = shouldKeepAlive;
    response.writeContinue();
  };
  return continueOnRead(request, sayContinue, logger);
}

function exchangeOf({ request, headers, connection, state, writer }: Accepted, body: Readable) {
  const given = {
    method: request.method ?? '',
    target: request.url ?? '',
    headers,
    httpVersion: request.httpVersion,
    peerAddress: connection.peerAddress,
    clientCertificate: connection.clientCertificate,
    body,
    response: writer,
  };
  return new ServedExchange(given, state);
}
