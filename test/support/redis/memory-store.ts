/**
 * A shared store in memory that a test can inspect and manipulate: what replicas see of a Redis, without one.
 * Entries do not expire, so code that relies on expiry in Redis fails.
 */
import type { SharedStore, StoreListener } from '../../../src/cache/shared-store.ts';

export interface StoreConnection extends SharedStore {
  /** While true, the store does not respond. */
  away: boolean;
  /** While true, writes are refused, as by a full Redis. */
  full: boolean;
  /** While true, messages are lost. */
  deaf: boolean;
  /** Reports that messages may have been lost. */
  gap(): void;
}

export function createMemoryStore() {
  const values = new Map<string, Buffer>();
  const receivers: ((message: string) => void)[] = [];
  const publish = (message: string) => {
    for (const receive of receivers) receive(message);
  };
  return { values, publish, connect: () => connect(values, receivers, publish) };
}

function connect(
  values: Map<string, Buffer>,
  receivers: ((message: string) => void)[],
  publish: (message: string) => void,
): StoreConnection {
  let listener: StoreListener | undefined;
  const connection: StoreConnection = {
    away: false,
    full: false,
    deaf: false,
    async get(names, maxBytes) {
      return connection.away ? undefined : names.map((name) => values.get(name)?.subarray(0, maxBytes));
    },
    async set(name, value) {
      if (connection.away || connection.full) return false;
      values.set(name, Buffer.from(value));
      return true;
    },
    async delete(names) {
      for (const name of connection.away ? [] : names) values.delete(name);
      return !connection.away;
    },
    async publish(message) {
      if (!connection.away) publish(message);
      return !connection.away;
    },
    run: async () => undefined,
    listen(given) {
      listener = given;
      receivers.push((message) => {
        if (!connection.deaf) given.onMessage(message);
      });
    },
    gap: () => listener?.onGap(),
    whenReady: async () => !connection.away,
    problem: () => (connection.away ? 'connection refused' : connection.full ? 'OOM' : undefined),
    close() {},
  };
  return connection;
}
