/**
 * A lease that replicas hold in turns, kept in Redis under one name: whoever has written their own random value there
 * holds it, until its time is over or they give it back. Who cannot ask does not hold it.
 * https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/
 */
import type { Lease } from '../bindings/ports.ts';
import type { Random } from '../lib/random.ts';
import type { LeaseStore } from './shared-store.ts';

export interface RedisLeaseOptions {
  readonly store: LeaseStore;
  /** In Redis, whole. */
  readonly name: string;
  /** How long it stays with a holder who says nothing more, in milliseconds. */
  readonly ttl: number;
  readonly random: Random;
}

export function createRedisLease({ store, name, ttl, random }: RedisLeaseOptions): Lease {
  const owner = random.uuid();
  return {
    hold: () => store.takeLease(name, owner, ttl),
    release: () => store.giveBackLease(name, owner),
  };
}
