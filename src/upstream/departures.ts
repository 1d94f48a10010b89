/**
 * Over which connections a request leaves, and with which token. The API server looks at a connection's client
 * certificate before it looks at a request's token: over a connection that carries ours, a request with a client's own
 * token would be Stonegate's, which may impersonate anybody. So those have connections of their own, which prove nothing,
 * and with their pools TLS sessions of their own, in which a certificate would be remembered.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates
 */
import type { Sender } from '../api/upstream-request.ts';
import { StatusError } from '../errors/status-error.ts';
import { MAX_CONNECTIONS } from './account-limits.ts';
import type { CallContext } from './call.ts';
import { addressOf, type ConnectionOptions, type UpstreamCredential } from './connection.ts';
import { ConnectionPool } from './connection-pool.ts';
import { createConnector } from './connector.ts';
import { DISCARD_TIMEOUT } from './discarded-response.ts';
import { IdleTimers } from './idle-timer.ts';

export interface Departure {
  /** For requests that end by themselves. */
  readonly brief: CallContext;
  readonly lasting: CallContext;
  /** For connections of their own. */
  readonly connection: ConnectionOptions;
  /** Undefined where the connection's certificate speaks. */
  readonly token: string | undefined;
}

/** @throws StatusError InvariantBroken for a client's token where none goes through */
export type DepartureOf = (sender: Sender) => Departure;

export interface DepartureOptions {
  readonly connection: Omit<ConnectionOptions, 'certificate'>;
  readonly credential: UpstreamCredential;
  /** Whether requests with a client's own token occur. */
  readonly passThrough: boolean;
  /** Milliseconds that a request waits for a connection to become free, once its account's limit lets it. */
  readonly patience: number;
  readonly context: Omit<CallContext, 'pool' | 'authority' | 'discardTimers'>;
}

export interface Departures {
  readonly of: DepartureOf;
  close(): Promise<void>;
  destroy(): Promise<void>;
}

export function createDepartures(options: DepartureOptions): Departures {
  const { credential, passThrough, connection } = options;
  const byToken = 'token' in credential;
  const own: Departure = {
    ...lanes(byToken ? connection : { ...connection, certificate: credential }, options),
    token: byToken ? credential.token : undefined,
  };
  // Where nothing but our token speaks for us, a connection is nobody's.
  const clients = !passThrough || byToken ? own : { ...lanes(connection, options), token: undefined };
  const pools = [...new Set([own, clients])].flatMap(({ brief, lasting }) => [brief.pool, lasting.pool]);

  return {
    of(sender) {
      if (sender.kind === 'stonegate') return own;
      if (!passThrough || sender.token === '') {
        throw new StatusError(
          'InvariantBroken',
          'Internal error occurred: nobody goes through with a token of their own',
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
 * Two pools, so that those who open thousands of watches do not take the connections of short requests. No more
 * requests wait in the first than it has connections: each has a slot of its account's limiter, and there are no more
 * slots.
 */
function lanes(
  connection: ConnectionOptions,
  { context, patience }: Pick<DepartureOptions, 'context' | 'patience'>,
): Omit<Departure, 'token'> {
  const { authority } = addressOf(connection.server);
  const { clock, logger } = context;
  const shared = { ...context, authority, discardTimers: new IdleTimers(clock, DISCARD_TIMEOUT) };
  const pool = (max: number) =>
    new ConnectionPool(createConnector(connection, clock), { max, patience, clock, logger });
  return {
    brief: { ...shared, pool: pool(MAX_CONNECTIONS) },
    lasting: { ...shared, pool: pool(Number.POSITIVE_INFINITY) },
    connection,
  };
}
