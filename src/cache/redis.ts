/**
 * The shared store on Redis 6.2 or newer: a single server, Sentinel or Cluster. One connection sends
 * commands, one subscribes. Without a connection no command is queued, and each round trip has a timeout,
 * after which the request continues without Redis.
 * https://redis.io/docs/latest/develop/reference/protocol-spec/
 */

import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { BackendCall } from '../lib/backend-call.ts';
import { afterPendingIO, type Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/error-code.ts';
import type { Runtime } from '../lib/runtime.ts';
import { createCircuitBreaker } from './circuit-breaker.ts';
import { createRedisSubscription } from './redis-subscription.ts';
import { parseRedisURL } from './redis-url.ts';
import type { SharedStore } from './shared-store.ts';

/** Milliseconds. */
const CIRCUIT_PAUSE = 1_000;
const CONNECT_TIMEOUT = 2_000;
const SILENCE_TIMEOUT = 2_000;
/** Time to close a connection; ioredis keeps the process alive for as long, even without a connection. */
const DISCONNECT_TIMEOUT = 50;
const FIRST_RETRY = 100;
const LAST_RETRY = 2_000;
/** Replies of a Redis that cannot serve now. */
const AWAY = /^(?:LOADING|MASTERDOWN|CLUSTERDOWN|READONLY|UNBLOCKED|TRYAGAIN)\b/;
const CREDENTIAL_REFUSED = /^(?:NOAUTH|WRONGPASS|NOPERM)\b/;

export interface RedisStoreOptions extends Pick<Runtime, 'clock' | 'logger' | 'telemetry'> {
  readonly url: string;
  /** PEM, for `rediss:`. */
  readonly ca?: string | Buffer;
  /** Milliseconds for one lookup, which takes two round trips. */
  readonly timeout: number;
  /** Prefix of the channel's name. */
  readonly keyPrefix: string;
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  /** The master's name in Sentinel. */
  readonly sentinelName?: string;
  readonly cluster: boolean;
}

/** Replies have the shapes of RESP2, also over RESP3. */
type Connection = RedisOptions & { replyMapping: 'legacy' };

/** @throws RangeError if the URL is not one of Redis */
export function createRedisStore(options: RedisStoreOptions): SharedStore {
  const { clock, logger } = options;
  const roundTrip = options.timeout / 2;
  const channel = `${options.keyPrefix}drops`;
  const connection = connectionOptions(options);
  const client = connect(options, connection);
  // A message that is published in a Cluster reaches every node: a connection to one of them is enough.
  const subscription = createRedisSubscription({
    connection: new Redis(connection),
    channel,
    clock,
    onProblem: (problem) => logger.warn({ problem }, 'Redis: the subscription to drops has failed'),
  });
  let refusal: string | undefined;

  const circuit = createCircuitBreaker({
    pause: CIRCUIT_PAUSE,
    clock,
    onOpen: (problem) => logger.warn({ problem }, 'Redis does not answer; requests continue without it'),
    onClose: () => logger.info({}, 'Redis answers again'),
  });
  client.on('ready', () => circuit.succeeded());
  client.on('error', (error: Error) => circuit.failed(error.message));

  /** Redis responds with an error, such as full memory or a missing permission. The circuit stays closed. */
  function refused(message: string): void {
    if (message !== refusal) logger.warn({ problem: message }, 'Redis refuses a command');
    refusal = message;
  }

  function failed(error: unknown, call: BackendCall): void {
    const message = messageOf(error);
    const answered = error instanceof Error && error.name === 'ReplyError' && !AWAY.test(message);
    if (answered) {
      refused(message);
      circuit.succeeded();
      call.end(CREDENTIAL_REFUSED.test(message) ? 'refused' : 'error');
      return;
    }
    circuit.failed(message);
    call.end(error instanceof TimeoutError ? 'timeout' : 'error');
  }

  async function ask<T>(command: () => Promise<T>): Promise<T | undefined> {
    if (!circuit.enter()) return undefined;
    const call = new BackendCall('redis', options);
    try {
      const answer = await within(command(), roundTrip, clock);
      circuit.succeeded();
      call.end('ok');
      return answer;
    } catch (error) {
      failed(error, call);
      return undefined;
    }
  }

  return {
    get: (names, maxBytes) =>
      ask(() =>
        Promise.all(
          names.map(async (name) => {
            // A value that is not a string, or that may not be read, counts as absent; the others are still
            // returned.
            const value = await client.getrangeBuffer(name, 0, maxBytes - 1).catch(absentIfWrongType);
            return value.length === 0 ? undefined : value;
          }),
        ),
      ),
    async set(name, value, ttl) {
      const done = await ask(() => client.set(name, value, 'PX', Math.max(1, Math.floor(ttl))));
      if (done !== undefined) refusal = undefined;
      return done !== undefined;
    },
    // One name per command: in a Cluster the names are on several nodes.
    delete: async (names) =>
      (await ask(() => Promise.all(names.map((name) => client.del(name))))) !== undefined,
    publish: async (message) => (await ask(() => client.publish(channel, message))) !== undefined,
    run: ({ text, sha1 }, keys, values) =>
      ask<unknown>(() =>
        client.evalsha(sha1, keys.length, ...keys, ...values).catch((error: unknown) => {
          if (!isUnknownScript(error)) throw error;
          return client.eval(text, keys.length, ...keys, ...values);
        }),
      ),
    listen: subscription.listen,
    whenReady: (milliseconds) => whenReady(client, milliseconds, clock),
    problem: () => circuit.problem ?? refusal,
    close() {
      subscription.close();
      client.disconnect();
    },
  };
}

function connectionOptions(options: RedisStoreOptions): Connection {
  const { tls, ...address } = parseRedisURL(options.url);
  const { host: _host, port: _port, path: _path, ...credential } = address;
  const sentinels = options.sentinels.map((sentinel) => ({ ...sentinel }));
  const tlsOptions = tls ? { tls: options.ca === undefined ? {} : { ca: options.ca } } : {};
  return {
    ...(sentinels.length > 0 ? credential : address),
    ...tlsOptions,
    ...(sentinels.length > 0 ? { sentinels, name: options.sentinelName ?? 'mymaster' } : {}),
    ...(sentinels.length > 0 && tls ? { enableTLSForSentinelMode: true, sentinelTLS: tlsOptions.tls } : {}),
    replyMapping: 'legacy',
    enableOfflineQueue: false,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT,
    socketTimeout: SILENCE_TIMEOUT,
    disconnectTimeout: DISCONNECT_TIMEOUT,
    retryStrategy: delay,
    sentinelRetryStrategy: delay,
    // The master was demoted.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  };
}

function connect(options: RedisStoreOptions, connection: Connection): Redis | Cluster {
  if (!options.cluster) return new Redis(connection);
  const {
    host,
    port,
    sentinels: _none,
    retryStrategy: _delay,
    enableOfflineQueue: _no,
    ...node
  } = connection;
  return new Cluster([{ host: host ?? '127.0.0.1', port: port ?? 6379 }], {
    redisOptions: node,
    enableOfflineQueue: false,
    clusterRetryStrategy: delay,
    slotsRefreshTimeout: CONNECT_TIMEOUT,
    // Certificates contain host names: an address would not verify.
    ...(connection.tls === undefined ? {} : { dnsLookup: (host, done) => done(null, host) }),
  });
}

/** Milliseconds until connection attempt number `times`. */
function delay(times: number): number {
  return Math.min(FIRST_RETRY * 2 ** Math.min(times, 10), LAST_RETRY);
}

class TimeoutError extends Error {}

/**
 * Otherwise a burst of handshakes would look like a Redis that is down, and each replica would ask Keystone
 * itself.
 */
function within<T>(answer: Promise<T>, milliseconds: number, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = afterPendingIO(clock, milliseconds, () =>
      reject(new TimeoutError(`no answer within ${milliseconds} ms`)),
    );
    answer.then(resolve, reject).finally(() => timer.cancel());
  });
}

function absentIfWrongType(error: unknown): Buffer {
  if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return Buffer.alloc(0);
  throw error;
}

/** Redis was restarted, or has not run the script yet. */
function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

function whenReady(client: Redis | Cluster, milliseconds: number, clock: Clock): Promise<boolean> {
  if (client.status === 'ready') return Promise.resolve(true);
  return new Promise((resolve) => {
    const ready = (): void => {
      timer.cancel();
      resolve(true);
    };
    const timer = clock.after(milliseconds, () => {
      client.off('ready', ready);
      resolve(false);
    });
    client.once('ready', ready);
  });
}
