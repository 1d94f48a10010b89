/**
 * Subscribes to drops. Redis stores no message for a client that is disconnected, so each interruption is
 * reported: entries in memory must then be confirmed. A ping detects a dead connection.
 * https://redis.io/docs/latest/develop/pubsub/
 */
import type { Clock, Timer } from '../lib/clock.ts';

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
  onMessage(listener: (message: string) => void): void;
  onGap(listener: () => void): void;
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
  const messageListeners: ((message: string) => void)[] = [];
  const gapListeners: (() => void)[] = [];
  let timer: Timer | undefined;
  let problem: string | undefined;

  const gap = (): void => {
    for (const listener of gapListeners) listener();
  };
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
      gap();
      pingLater();
    }, reconnect);
  });
  connection.on('close', () => {
    timer?.cancel();
    gap();
  });
  connection.on('error', report);
  connection.on('message', (_channel, message) => {
    for (const listener of messageListeners) listener(message);
  });

  return {
    onMessage: (listener) => {
      messageListeners.push(listener);
    },
    onGap: (listener) => {
      gapListeners.push(listener);
    },
    close() {
      timer?.cancel();
      connection.disconnect();
    },
  };
}
