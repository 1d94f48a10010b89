/** A minimal listener on Node’s HTTP/1.1 server, for tests with real sockets and real backpressure. */
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import type { Duplex, Writable } from 'node:stream';
import { type Cancellation, CancellationSource } from '../../../src/lib/cancellation.ts';
import type { Exchange, ResponseWriter, Upgrade } from '../../../src/lib/exchange.ts';
import { fromRawHeaders, headerValue } from '../../../src/lib/header-list.ts';

export async function startExchangeServer(serve: (exchange: Exchange) => void) {
  const stopping = new CancellationSource();
  const server = http.createServer({ keepAliveTimeout: 60_000 });
  server.on('request', (request, response) => {
    response.once('finish', () => request.resume());
    serve(toExchange(request, response, stopping));
  });
  server.on('upgrade', (request, socket, head) => {
    const response = new http.ServerResponse(request);
    response.shouldKeepAlive = false;
    if (socket instanceof net.Socket) response.assignSocket(socket);
    response.once('finish', () => socket.end());
    const protocol = (request.headers.upgrade ?? '').toLowerCase();
    serve(toExchange(request, response, stopping, { protocol, socket, head }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    /** Triggers the `stopping` of every exchange. */
    stop: () => stopping.cancel(),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function toExchange(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  stopping: Cancellation,
  upgrade?: Upgrade,
): Exchange {
  const gone = new AbortController();
  const connection: Duplex = upgrade?.socket ?? request.socket;
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new Error('the client left'));
  });
  return {
    method: request.method ?? '',
    target: request.url ?? '',
    headers: fromRawHeaders(request.rawHeaders),
    httpVersion: request.httpVersion,
    peerAddress: request.socket.remoteAddress,
    body: request,
    bytesReceived: 0,
    response: toWriter(response, connection, upgrade === undefined ? response : connection),
    signal: gone.signal,
    stopping,
    ...(upgrade === undefined ? {} : { upgrade }),
  };
}

/** @param drains the stream that emits 'drain'; an upgraded socket does not report it to its response */
function toWriter(response: http.ServerResponse, connection: Duplex, drains: Writable): ResponseWriter {
  let remaining: number | undefined;
  return {
    get headersSent() {
      return response.headersSent;
    },
    get closed() {
      return response.writableEnded || response.destroyed;
    },
    bytesSent: 0,
    writeHead(status, headers) {
      const length = headerValue(headers, 'content-length');
      if (length !== undefined) remaining = Number(length);
      response.writeHead(status, headers.flat());
      // Sends the head now, as latin1; `flushHeaders` would send it as UTF-8.
      response.write('', 'latin1');
    },
    write(chunk) {
      if (remaining === undefined) return response.write(chunk);
      remaining -= chunk.length;
      if (remaining > 0) return response.write(chunk);
      // As in Stonegate's own listener, the last byte of a declared length completes the response.
      response.end(chunk);
      return true;
    },
    onDrain: (callback) => drains.once('drain', callback),
    end: (chunk) => response.end(chunk),
    destroy: () => connection.destroy(),
  };
}
