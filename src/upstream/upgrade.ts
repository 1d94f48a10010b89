/**
 * Sends an upgrade request to the API server, over a connection of its own and with Node's client: a pooled
 * connection would not survive the switch, and the API server's refusal is a response like any other.
 */
import http from 'node:http';
import type { Duplex } from 'node:stream';
import { StatusError } from '../errors/status-error.ts';
import { fromRawHeaders, headerTokens } from '../lib/header-list.ts';
import type { CallContext, CallRequest, SentRequest } from './call-request.ts';
import { unavailable } from './failure.ts';
import { upgradeFields } from './header-rules.ts';
import { BorrowedChunk } from './http1/borrowed-chunk.ts';
import type { ResponseHandler, WireRequest } from './http1/connection.ts';
import { connect } from './http1/connector.ts';
import { MAX_HEADER_BYTES } from './http1/response-parser.ts';

/** The API server's end of a connection that has left HTTP. */
export interface Switched {
  readonly socket: Duplex;
  /** The head of the response for the client, in latin1. */
  readonly head: string;
  /** The bytes that the API server sent after it. */
  readonly rest: Buffer;
}

/**
 * The supported protocols, with their registered spelling, which some servers compare exactly. In a tunnel of
 * another protocol (h2c) a client could send further requests with Stonegate's credential and without
 * impersonation.
 */
const PROTOCOLS: ReadonlyMap<string, string> = new Map([
  ['websocket', 'websocket'],
  ['spdy/3.1', 'SPDY/3.1'],
]);

/** A switch of protocols is a response with status 101 and without a body; then `switched` is present. */
export class UpgradeSender {
  switched: Switched | undefined;
  readonly #context: CallContext;
  readonly #request: CallRequest;
  readonly #protocol: string;

  /**
   * @param protocol in lower case
   * @throws StatusError RequestMalformed for any other protocol than those we know
   */
  constructor(context: CallContext, request: CallRequest, protocol: string) {
    if (!PROTOCOLS.has(protocol))
      throw new StatusError(
        'RequestMalformed',
        'a connection can be upgraded to WebSocket and SPDY/3.1 only',
      );
    this.#context = context;
    this.#request = request;
    this.#protocol = protocol;
  }

  send({ method }: WireRequest, handler: ResponseHandler): SentRequest {
    const { sender, target, headers } = this.#request;
    const { authority, connection, token } = this.#context.selectPools(sender);
    const fields = [
      'Host',
      authority,
      'Connection',
      'Upgrade',
      'Upgrade',
      PROTOCOLS.get(this.#protocol) ?? '',
    ];
    // A POST without it would be sent chunked.
    if (method !== 'GET') fields.push('Content-Length', '0');
    fields.push(...upgradeFields(headers, token));
    let received: http.IncomingMessage | undefined;
    const timer = this.#context.clock.after(connection.connectTimeout, () =>
      handler.onFailure(unavailable('connecting took too long')),
    );
    const onConnected = (): void => {
      timer.cancel();
      handler.onSent();
    };
    const outgoing = http.request({
      method,
      path: target,
      headers: fields,
      maxHeaderSize: MAX_HEADER_BYTES,
      createConnection: () => connect(connection, { allowHalfOpen: true }, onConnected),
    });
    outgoing
      .on('error', (error) => handler.onFailure(error))
      .on('upgrade', (response, socket, rest) => this.#onSwitch(handler, response, socket, rest))
      .on('response', (response) => {
        received = response;
        if (response.statusCode === 101) handler.onFailure(unavailable('it switched to no protocol'));
        else relay(response, handler);
      })
      .end();
    return {
      wasSent: true,
      cancel() {
        timer.cancel();
        outgoing.destroy();
        return true;
      },
      pause: () => received?.pause(),
      resume: () => received?.resume(),
    };
  }

  #onSwitch(
    handler: ResponseHandler,
    { rawHeaders, statusMessage }: http.IncomingMessage,
    socket: Duplex,
    rest: Buffer,
  ): void {
    const { logger } = this.#context;
    const protocol = this.#protocol;
    const fields = fromRawHeaders(rawHeaders);
    const chosen = headerTokens(fields, 'upgrade');
    // Without a listener an error would end the process.
    socket.on('error', (error) => logger.debug({ error }, 'the API server broke a tunnel'));
    if (chosen.length !== 1 || chosen[0] !== protocol) {
      logger.error(
        { asked: protocol, chosen: chosen.join(', ').slice(0, 64) },
        'the API server switched to a protocol that was not asked for',
      );
      socket.destroy();
      handler.onFailure(unavailable('it switched to a protocol that was not asked for'));
      return;
    }
    // The API server's own: Sec-WebSocket-Accept and X-Stream-Protocol-Version are between it and the client.
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const head = `HTTP/1.1 101 ${statusMessage ?? 'Switching Protocols'}\r\n${lines}\r\n`;
    this.switched = { socket, head, rest };
    handler.onHead(101, fields);
    handler.onEnd();
  }
}

function relay(response: http.IncomingMessage, handler: ResponseHandler): void {
  const callHandler = (action: () => void): void => {
    try {
      action();
    } catch (error) {
      handler.onFailure(error instanceof Error ? error : new Error('the response failed', { cause: error }));
    }
  };
  response
    .on('data', (bytes: Buffer) =>
      callHandler(() => BorrowedChunk.lend(bytes, (chunk) => handler.onData(chunk))),
    )
    .on('end', () => callHandler(() => handler.onEnd()))
    .on('error', (error) => handler.onFailure(error));
  callHandler(() => handler.onHead(response.statusCode ?? 0, fromRawHeaders(response.rawHeaders)));
}
