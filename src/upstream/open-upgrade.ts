/**
 * Sends an upgrade request to the API server and reports how it responded.
 */
import http from 'node:http';
import type { Duplex } from 'node:stream';
import { StatusError } from '../errors/status-error.ts';
import { connect, parseServer } from '../http1/connector.ts';
import { DEFAULT_MAX_HEADER_BYTES } from '../http1/response-parser.ts';
import type { Clock } from '../lib/clock.ts';
import { fromRawHeaders, headerTokens } from '../lib/header-list.ts';
import type { Logger } from '../lib/logger.ts';
import type { BackendResult, Telemetry } from '../lib/telemetry.ts';
import type { Upgrade, UpstreamRequest } from '../pipeline/ports.ts';
import type { SelectPools, SenderPools } from './connection-pools.ts';
import { backendResult, responseFault, timedOut, toStatusError, unavailable } from './failure.ts';
import { upgradeFields } from './header-rules.ts';

export interface UpgradeOptions {
  readonly selectPools: SelectPools;
  /** Milliseconds from the request to the head of the response. */
  readonly timeouts: { readonly response: number };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export type Opened =
  | {
      readonly kind: 'upgraded';
      readonly socket: Duplex;
      /** The head of the response for the client, in latin1. */
      readonly head: string;
      /** The bytes that the API server sent after it. */
      readonly rest: Buffer;
    }
  | { readonly kind: 'refused'; readonly response: http.IncomingMessage }
  /** The client disconnected first. */
  | { readonly kind: 'left' };

/**
 * The supported protocols, with their registered spelling, which some servers compare exactly. In a tunnel of
 * another protocol (h2c) a client could send further requests with Stonegate's credential and without
 * impersonation.
 */
const PROTOCOLS: ReadonlyMap<string, string> = new Map([
  ['websocket', 'websocket'],
  ['spdy/3.1', 'SPDY/3.1'],
]);

/**
 * @param signal aborted if the client leaves
 * @throws StatusError RequestMalformed, UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential
 */
export async function openUpgrade(
  options: UpgradeOptions,
  request: UpstreamRequest,
  upgrade: Upgrade,
  signal: AbortSignal,
): Promise<Opened> {
  const { clock, telemetry, logger, timeouts } = options;
  const pools = options.selectPools(request.sender);
  const { connection } = pools;
  const headers = upgradeHeaders(pools, request, upgrade);
  if (signal.aborted) return { kind: 'left' };
  const startedAt = clock.now();
  const { promise, resolve, reject } = Promise.withResolvers<Opened>();
  let settled = false;
  const outgoing = start(request, headers, () => connect(connection, { allowHalfOpen: true }, onConnected));
  let timer = clock.after(connection.connectTimeout, () => fail(unavailable('connecting took too long')));
  signal.addEventListener('abort', onLeave, { once: true });
  outgoing.on('upgrade', onUpgraded).on('response', onRefused).on('error', onError).end();
  return promise;

  function onConnected(): void {
    if (settled) return;
    timer.cancel();
    timer = clock.after(timeouts.response, () => fail(timedOut('no answer to the upgrade')));
  }

  function onUpgraded(response: http.IncomingMessage, socket: Duplex, rest: Buffer): void {
    // Without a listener an error would end the process.
    socket.on('error', (error) => logger.debug({ error }, 'the API server broke a tunnel'));
    if (settled) {
      socket.destroy();
      return;
    }
    const chosen = headerTokens(fromRawHeaders(response.rawHeaders), 'upgrade');
    if (chosen.length !== 1 || chosen[0] !== upgrade.protocol) {
      logger.error(
        { asked: upgrade.protocol, chosen: chosen.join(', ').slice(0, 64) },
        'the API server switched to a protocol that was not asked for',
      );
      socket.destroy();
      fail(unavailable('it switched to a protocol that was not asked for'));
      return;
    }
    settle('ok');
    resolve({ kind: 'upgraded', socket, head: headOf(response), rest });
  }

  function onRefused(response: http.IncomingMessage): void {
    const status = response.statusCode ?? 0;
    const fault = responseFault(status, request.proxied || request.sender.kind === 'client', logger);
    if (fault !== undefined) {
      fail(fault);
      return;
    }
    settle('ok');
    resolve({ kind: 'refused', response });
  }

  function onError(error: Error): void {
    fail(unavailable(error));
  }

  function onLeave(): void {
    if (settled) return;
    settle(undefined);
    outgoing.destroy();
    resolve({ kind: 'left' });
  }

  function fail(error: StatusError): void {
    if (settled) return;
    settle(backendResult(error));
    outgoing.destroy();
    reject(error);
  }

  function settle(result: BackendResult | undefined): void {
    settled = true;
    timer.cancel();
    signal.removeEventListener('abort', onLeave);
    if (result !== undefined) telemetry.backendCall('upstream', result, (clock.now() - startedAt) / 1000);
  }
}

/** @throws StatusError InvariantBroken for what HTTP cannot say */
function start(
  { method, target }: UpstreamRequest,
  headers: string[],
  createConnection: () => Duplex,
): http.ClientRequest {
  try {
    return http.request({
      method,
      path: target,
      headers,
      maxHeaderSize: DEFAULT_MAX_HEADER_BYTES,
      createConnection,
    });
  } catch (error) {
    throw toStatusError(error);
  }
}

/** @throws StatusError RequestMalformed for any other protocol than those we know */
function upgradeHeaders(
  { connection, token }: SenderPools,
  request: UpstreamRequest,
  upgrade: Upgrade,
): string[] {
  const protocol = PROTOCOLS.get(upgrade.protocol);
  if (protocol === undefined)
    throw new StatusError('RequestMalformed', 'a connection can be upgraded to WebSocket and SPDY/3.1 only');
  return [
    'Host',
    parseServer(connection.server).authority,
    'Connection',
    'Upgrade',
    'Upgrade',
    protocol,
    // A POST without it would be sent chunked.
    ...(request.method === 'GET' ? [] : ['Content-Length', '0']),
    ...upgradeFields(request.headers, token),
  ];
}

/** The API server's own: Sec-WebSocket-Accept and X-Stream-Protocol-Version are between it and the client. */
function headOf({ rawHeaders, statusMessage }: http.IncomingMessage): string {
  const lines = fromRawHeaders(rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 101 ${statusMessage ?? 'Switching Protocols'}\r\n${lines.join('')}\r\n`;
}
