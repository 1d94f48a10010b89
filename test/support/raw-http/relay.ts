/**
 * Client, relay and API server in one process: a raw server as the API server, the upstream adapter in front
 * of it, and a minimal listener in front of that. Tests play the client and the API server.
 */
import type { Test } from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import { toStatus } from '../../../src/errors/to-status.ts';
import type { RelayResult, StreamEnding, UpstreamRequest } from '../../../src/kubernetes/upstream-ports.ts';
import type { Sender } from '../../../src/kubernetes/upstream-request.ts';
import type { Exchange } from '../../../src/lib/exchange.ts';
import type { HeaderList } from '../../../src/lib/header-list.ts';
import type { LogFields, Logger } from '../../../src/lib/logger.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import type { UpstreamCredential } from '../../../src/upstream/credential.ts';
import { createReviewedWritePermits } from '../../../src/upstream/reviewed-write-permits.ts';
import { createUpstream, type Upstream } from '../../../src/upstream/upstream.ts';
import { createFakeClock } from '../fake-clock.ts';
import { startExchangeServer } from './exchange-server.ts';
import { connectRaw, type RawConnection } from './raw-connection.ts';
import { startRawServer } from './raw-server.ts';

export const TIMEOUTS = { connect: 5_000, response: 60_000, body: 30_000 };

/** The default limits. */
export const LIMITS = { tenantQueue: { requests: 256, bytes: 8 * 1024 * 1024 }, sources: 16 };

/** How one request ended; `heads` are the statuses passed to `onHead`. */
export interface Ending {
  readonly result?: RelayResult;
  readonly error?: unknown;
  readonly heads: readonly number[];
}

export type Relay = Awaited<ReturnType<typeof startRelay>>;

export interface RelayOptions {
  readonly longRunning?: boolean;
  /** By default the value of `longRunning`. */
  readonly endless?: boolean;
  /** Ends each request before its client or the API server does. */
  readonly ending?: StreamEnding;
  /** Whether a workload responds. */
  readonly proxied?: boolean;
  /** Whether the API server itself responds. */
  readonly servedByAPIServer?: boolean;
  /** Whether it is a watch whose events are filtered. */
  readonly dropsBookmarks?: boolean;
  /** Receives a 403 response. */
  readonly onForbidden?: NonNullable<UpstreamRequest['onForbidden']>;
  /** Receives the body of a 201 response. */
  readonly onCreated?: (body: Buffer) => void;
  readonly maxBodyBytes?: number;
  readonly credential?: UpstreamCredential;
  /** The sender whose credential requests carry; by default Stonegate. */
  readonly sender?: Sender;
  /** The server's URL, in place of that of the raw server. */
  readonly server?: string;
  readonly ca?: string;
  /** The header fields that the pipeline would forward for the client's. */
  readonly headers?: (exchange: Exchange) => HeaderList;
  /** Inspects or replaces the exchange. */
  readonly exchange?: (exchange: Exchange) => Exchange;
  /** In milliseconds, in place of `TIMEOUTS`. */
  readonly timeouts?: Partial<typeof TIMEOUTS>;
  /** In place of `LIMITS`. */
  readonly limits?: Partial<typeof LIMITS>;
  /** The path of the webhook that reviews a request; by default no request is reviewed. */
  readonly pathOf?: (method: string, target: string) => string | undefined;
}

/** A relay that is closed after the test. */
export async function relayFor(test: Test, options: RelayOptions = {}): Promise<Relay> {
  const relay = await startRelay(options);
  test.teardown(() => relay.close());
  return relay;
}

/** A request whose head has reached the API server, with both of its connections. */
export async function begun(test: Test, text: string, options: RelayOptions = {}) {
  const relay = await relayFor(test, options);
  const client = await relay.request(text);
  const server = await relay.upstream.next('\r\n\r\n');
  return { relay, client, server };
}

/** One chunk of a chunked body. */
export function chunk(text: string) {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

async function startRelay(options: RelayOptions = {}) {
  const upstream = await startRawServer();
  const clock = createFakeClock();
  const log: { level: string; fields: LogFields; message: string }[] = [];
  const calls: string[] = [];
  const endings: Ending[] = [];
  let taken = 0;
  let ended = Promise.withResolvers<void>();
  const adapter = createUpstream({
    server: options.server ?? upstream.url,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    credential: options.credential ?? { token: 'our-token' },
    passThrough: options.sender?.kind === 'client',
    timeouts: { ...TIMEOUTS, ...options.timeouts },
    limits: { ...LIMITS, ...options.limits },
    ...(options.pathOf && {
      reviewedWrites: createReviewedWritePermits({
        clock,
        queueTimeout: TIMEOUTS.response,
        tenantQueue: LIMITS.tenantQueue,
        pathOf: options.pathOf,
      }),
    }),
    maxBodyBytes: options.maxBodyBytes ?? 1024 * 1024 * 1024,
    clock,
    logger: recordingLogger(log),
    telemetry: { ...noTelemetry, backendCall: (_backend, result) => calls.push(result) },
  });
  const server = await startExchangeServer(async (incoming) => {
    const exchange = options.exchange?.(incoming) ?? incoming;
    const heads: number[] = [];
    try {
      const result = await relay(adapter, exchange, options, heads);
      endings.push({ result, heads });
    } catch (error) {
      endings.push({ error, heads });
      answer(exchange, error);
    }
    ended.resolve();
    ended = Promise.withResolvers();
  });
  const clients: RawConnection[] = [];
  const connect = async (): Promise<RawConnection> => {
    const connection = await connectRaw(server.port);
    clients.push(connection);
    return connection;
  };
  return {
    upstream,
    adapter,
    clock,
    log,
    /** `backendCall` results in order. */
    calls,
    /** Opens a connection to the relay. */
    client: connect,
    /** Opens a connection to the relay and sends this text. */
    async request(text: string) {
      const connection = await connect();
      connection.send(text);
      return connection;
    },
    /** How the next request ended whose ending was not returned yet. */
    async ending() {
      for (;;) {
        const ending = endings[taken];
        if (ending !== undefined) {
          taken += 1;
          return ending;
        }
        await ended.promise;
      }
    },
    stop: server.stop,
    async close() {
      for (const { socket } of clients) socket.destroy();
      await adapter.destroy();
      await upstream.close();
      await server.close();
    },
  };
}

function relay(
  adapter: Upstream,
  exchange: Exchange,
  options: RelayOptions,
  heads: number[],
): Promise<RelayResult> {
  const request = {
    account: { kind: 'tenant', tenant: toTenantName('acme') } as const,
    sender: options.sender ?? ({ kind: 'stonegate' } as const),
    method: exchange.method,
    target: exchange.target,
    headers: options.headers?.(exchange) ?? [['Accept', 'application/json']],
    longRunning: options.longRunning ?? false,
    endless: options.endless ?? options.longRunning ?? false,
    ...(options.ending && { ending: options.ending }),
    proxied: options.proxied ?? false,
    servedByAPIServer: options.servedByAPIServer ?? false,
    dropsBookmarks: options.dropsBookmarks ?? false,
    ...(options.onForbidden && { onForbidden: options.onForbidden }),
    ...(options.onCreated && { onCreated: options.onCreated }),
  };
  const hooks = { onHead: (status: number) => void heads.push(status) };
  return exchange.upgrade === undefined
    ? adapter.forward(request, exchange, hooks)
    : adapter.tunnel(request, exchange, exchange.upgrade, hooks);
}

function answer({ response }: Exchange, error: unknown) {
  if (response.closed) return;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status } = toStatus(error, 'audit-id');
  const body = JSON.stringify(status);
  response.writeHead(status.code, [
    ['Content-Type', 'application/json'],
    ['Content-Length', String(body.length)],
  ]);
  response.end(body);
}

function recordingLogger(log: { level: string; fields: LogFields; message: string }[]): Logger {
  const at = (level: string) => (fields: LogFields, message: string) => {
    log.push({ level, fields, message });
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** The code of a refusal, for assertions. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof StatusError ? error.code : undefined;
}
