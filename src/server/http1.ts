/**
 * HTTP/1.1 on the listener: events of Node's server become exchanges. Node's parser stays strict
 * (`insecureHTTPParser` is never set): it refuses two lengths, folded fields and bare line feeds (request
 * smuggling).
 * RFC 9112.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { StatusError } from '../errors/status-error.ts';
import { createHttp1Connections, type Http1Connection } from './http1-connection.ts';
import { Http1Exchange } from './http1-exchange.ts';
import { checkHttp1Head } from './http1-head.ts';
import { refuseMalformed } from './http1-refusal.ts';
import { serveHttp1Upgrades } from './http1-upgrade.ts';
import { refuse, type ServeContext } from './serve-context.ts';

/** Kubernetes clients do not pipeline; more pending responses on one connection are an attack. */
const MAX_PIPELINED = 8;

/** Serves the requests on connections that the server is given. */
export function serveHttp1(server: Server, context: ServeContext): void {
  const connectionOf = createHttp1Connections(context);

  server.on('secureConnection', connectionOf);
  server.on('request', (request, response) => {
    accept(request, response, connectionOf(request.socket))?.serveInOrder();
  });
  server.on('checkContinue', (request, response) => {
    const exchange = accept(request, response, connectionOf(request.socket));
    exchange?.expectContinue();
    exchange?.serveInOrder();
  });
  server.on('checkExpectation', (request, response) => {
    const exchange = accept(request, response, connectionOf(request.socket));
    if (exchange === undefined) return;
    exchange.connection.refused = true;
    exchange.closeAfter();
    const refusal = new StatusError('ExpectationFailed', 'the only expectation understood is 100-continue');
    refuse(exchange, refusal, context);
  });
  server.on('clientError', (error, socket) => refuseMalformed(error, socket, connectionOf(socket), context));
  serveHttp1Upgrades(server, connectionOf, context);
}

/** @returns undefined if the request is not served: it is refused already, or its connection ends */
function accept(
  request: IncomingMessage,
  response: ServerResponse,
  connection: Http1Connection,
): Http1Exchange | undefined {
  // A refusal closes the connection: requests after it are ignored (RFC 9112 §9.6).
  if (connection.refused) connection.ignoredRequests += 1;
  if (connection.pending >= MAX_PIPELINED || connection.ignoredRequests >= MAX_PIPELINED)
    request.socket.destroy();
  if (connection.refused || request.socket.destroyed) return undefined;
  const exchange = new Http1Exchange(request, response, connection);
  try {
    checkHttp1Head(exchange.httpVersion, exchange.headers);
  } catch (error) {
    connection.refused = true;
    exchange.closeAfter();
    refuse(exchange, error, connection.context);
    return undefined;
  }
  return exchange;
}
