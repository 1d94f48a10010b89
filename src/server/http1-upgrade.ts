/**
 * HTTP/1.1 upgrade requests. Node hands over the bare socket; a refusal is still an HTTP response, written
 * through a ServerResponse of our own, and then the socket closes. CONNECT is always refused: Stonegate is no
 * forward proxy.
 * RFC 9110 §7.8, §9.3.6.
 */
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { StatusError } from '../errors/status-error.ts';
import { fromRawHeaders, headerTokens } from '../lib/header-list.ts';
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
    const response = accept(request, socket, connection);
    if (response === undefined) return;
    const { peerAddress, clientCertificate } = connection;
    const { method = '', url: target = '', httpVersion } = request;
    const headers = fromRawHeaders(request.rawHeaders);
    try {
      checkHttp1Head(httpVersion, headers);
      checkUpgradeHead(headers);
    } catch (error) {
      refuse(response, error, context);
      return;
    }
    const protocol = headerTokens(headers, 'upgrade')[0] ?? '';
    serveGuarded(
      {
        method,
        target,
        headers,
        httpVersion,
        peerAddress,
        clientCertificate,
        connection,
        body: Readable.from([]),
        get bytesReceived() {
          return head.length + response.bytesReceived;
        },
        response,
        signal: response.signal,
        stopping: context.stopping,
        upgrade: { protocol, socket, head },
      },
      context,
    );
  });
  server.on('connect', (request, socket) => {
    const response = accept(request, socket, connectionOf(socket));
    if (response === undefined) return;
    refuse(response, new StatusError('MethodNotAllowed', 'CONNECT is not supported'), context);
  });
}

function accept(
  request: IncomingMessage,
  socket: Duplex,
  connection: Http1Connection,
): UpgradeResponse | undefined {
  const { logger } = connection.context;
  socket.on('error', (error) => logger.debug({ error }, 'an upgraded connection broke'));
  // With pending responses, their bytes would be mixed with those of the new protocol.
  if (!(socket instanceof Socket) || connection.refused || connection.pending > 0) {
    socket.destroy();
    return undefined;
  }
  // It may still run for an earlier response; a tunnel has no stall timeout.
  connection.stallTimeout.stop();
  const response = new UpgradeResponse(new ServerResponse(request), socket, connection);
  response.closeAfter();
  return response;
}

/** Its socket counts the bytes of the tunnel too. */
class UpgradeResponse extends Http1Response {
  readonly #readBefore = this.socket.bytesRead;
  readonly #writtenBefore = this.socket.bytesWritten;

  get bytesReceived(): number {
    return this.socket.bytesRead - this.#readBefore;
  }

  override get bytesSent(): number {
    return this.socket.bytesWritten - this.#writtenBefore;
  }

  /** It never waits: no response is pending before it. */
  onFirst(): void {}

  /** The bytes after its head are no HTTP. */
  get requestComplete(): boolean {
    return true;
  }

  protected get drainSource(): Socket {
    return this.socket;
  }

  protected beforeHead(): void {
    if (this.outgoing.socket !== this.socket) this.outgoing.assignSocket(this.socket);
  }

  protected override finished(): void {
    super.finished();
    this.outgoing.detachSocket(this.socket);
    this.socket.destroySoon();
  }
}
