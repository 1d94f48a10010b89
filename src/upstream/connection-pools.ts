/**
 * Which connections and which token a request is sent with. The API server authenticates the client
 * certificate of a connection before the token of a request: over a connection with Stonegate's certificate,
 * a request with a client's own token would have Stonegate's rights. Such requests therefore have pools
 * without a certificate, and with them TLS sessions of their own.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates
 */

import { StatusError } from '../errors/status-error.ts';
import type { Sender } from '../kubernetes/upstream-request.ts';
import type { Runtime } from '../lib/runtime.ts';
import { MAX_CONNECTIONS } from './account-limits.ts';
import type { UpstreamCredential } from './credential.ts';
import { type ConnectOptions, createConnector, parseServer } from './http1/connector.ts';
import { ConnectionPool } from './http1/pool.ts';

export interface SenderPools {
  /** Used for requests that end by themselves. */
  readonly short: ConnectionPool;
  readonly longRunning: ConnectionPool;
  /** Value of the Host field. */
  readonly authority: string;
  /** Options of connections outside the pools. */
  readonly connection: ConnectOptions;
  /** Undefined if the connection's certificate authenticates. */
  readonly token: string | undefined;
}

/** @throws StatusError InvariantBroken for a client's token if none is forwarded */
export type SelectPools = (sender: Sender) => SenderPools;

export interface ConnectionPoolsOptions extends Pick<Runtime, 'clock' | 'logger'> {
  readonly connection: Omit<ConnectOptions, 'certificate'>;
  readonly credential: UpstreamCredential;
  /** Whether requests with a client's own token occur. */
  readonly passThrough: boolean;
  /** Milliseconds that a request waits for a connection, after its account's limit. */
  readonly queueTimeout: number;
}

export interface ConnectionPools {
  readonly select: SelectPools;
  /** Takes no new requests; resolves when all have ended. */
  close(): Promise<void>;
  /** Breaks off all requests. */
  destroy(): Promise<void>;
}

export function createConnectionPools(options: ConnectionPoolsOptions): ConnectionPools {
  const { credential, passThrough, connection } = options;
  const hasToken = 'token' in credential;
  const own: SenderPools = {
    ...createPoolPair(hasToken ? connection : { ...connection, certificate: credential }, options),
    token: hasToken ? credential.token : undefined,
  };
  // Without a certificate a connection authenticates no one.
  const clients =
    !passThrough || hasToken ? own : { ...createPoolPair(connection, options), token: undefined };
  const pools = [...new Set([own, clients])].flatMap(({ short, longRunning }) => [short, longRunning]);

  return {
    select(sender) {
      if (sender.kind === 'stonegate') return own;
      if (!passThrough || sender.token === '') {
        throw new StatusError(
          'InvariantBroken',
          'Internal error occurred: no request is sent with a token of its client',
        );
      }
      return { ...clients, token: sender.token };
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.close()));
    },
    async destroy() {
      await Promise.all(pools.map((pool) => pool.destroy()));
    },
  };
}

/**
 * Two pools, so that thousands of watches do not take the connections of short requests. No more requests are
 * queued in the first than it has connections: each has a slot of its account's limiter, and there are no
 * more slots.
 */
function createPoolPair(
  connection: ConnectOptions,
  { clock, logger, queueTimeout }: ConnectionPoolsOptions,
): Omit<SenderPools, 'token'> {
  const createPool = (maxConnections: number): ConnectionPool =>
    new ConnectionPool({
      connector: createConnector(connection, clock),
      clock,
      maxConnections,
      queueTimeout,
      onHandlerError: (error) => logger.error({ error }, 'the failure of a request could not be reported'),
    });
  return {
    short: createPool(MAX_CONNECTIONS),
    longRunning: createPool(Number.POSITIVE_INFINITY),
    authority: parseServer(connection.server).authority,
    connection,
  };
}
