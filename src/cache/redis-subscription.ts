/**
 * Subscribes to drops. Redis stores no message for a client that is disconnected, so each interruption is
 * reported: entries in memory must then be confirmed. A ping detects a dead connection.
 * https://redis.io/docs/latest/develop/pubsub/
 */
import type { Clock, Timer } from '../lib/clock.ts';
import type { StoreListener } from './shared-store.ts';

/** Milliseconds. */
const PING_INTERVAL = 10_000;

/** The part of a Redis connection that is used here. */
export interface SubscriberConnection {
  on(event: 'ready' | 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'message', listener: (channel: string, message: string) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  ping(): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
}

export interface RedisSubscription {
  listen(listener: StoreListener): void;
  close(): void;
}

export interface RedisSubscriptionOptions {
  readonly connection: SubscriberConnection;
  readonly channel: string;
  readonly clock: Clock;
  /** Called once per kind of problem, until the subscription works again. */
  onProblem(problem: string): void;
}

export function createRedisSubscription(options: RedisSubscriptionOptions): RedisSubscription {
  const { connection, channel, clock, onProblem } = options;
  let listener: StoreListener | undefined;
  let timer: Timer | undefined;
  let problem: string | undefined;

  function report(error: Error): void {
    if (error.message !== problem) onProblem(error.message);
    problem = error.message;
  }
  function reconnect(error: Error): void {
    report(error);
    connection.disconnect(true);
  }

  function pingLater(): void {
    timer?.cancel();
    timer = clock.after(PING_INTERVAL, () => {
      connection.ping().then(pingLater, reconnect);
    });
  }

  connection.on('ready', () => {
    connection.subscribe(channel).then(() => {
      problem = undefined;
      listener?.onGap();
      pingLater();
    }, reconnect);
  });
  connection.on('close', () => {
    timer?.cancel();
    listener?.onGap();
  });
  connection.on('error', report);
  connection.on('message', (_channel, message) => listener?.onMessage(message));

  return {
    listen(given) {
      listener = given;
    },
    close() {
      timer?.cancel();
      connection.disconnect();
    },
  };
}
