/**
 * One request to a backend for all replicas: the replica that holds a lease sends it, the others poll for the
 * result. The wait is short and bounded, and without Redis each replica sends its own request. So a holder
 * that crashes, or an attacker who writes leases into Redis, can only delay a request.
 */
import type { Clock } from '../lib/clock.ts';

/** Milliseconds between two polls: at first, and at most. */
const FIRST_POLL = 5;
const MAX_POLL = 50;
/** Milliseconds after which a replica no longer waits for another one. */
const TIMEOUT = 1_000;

export interface FlightLease {
  /** Called when others can find the result, or there is none. */
  release(): void;
}

/**
 * `held`: another replica has the lease; `unavailable`: there are no leases, since Redis does not respond.
 */
export type LeaseAttempt = FlightLease | 'held' | 'unavailable';

export interface DistributedSingleFlightOptions<V> {
  readonly clock: Clock;
  readonly acquireLease: () => Promise<LeaseAttempt>;
  /** @returns the result, if another replica has stored it by now */
  readonly find: () => Promise<V | undefined>;
  readonly load: (lease: FlightLease) => Promise<V | undefined>;
}

const NO_LEASE: FlightLease = { release() {} };

export async function distributedSingleFlight<V>({
  clock,
  acquireLease,
  find,
  load,
}: DistributedSingleFlightOptions<V>): Promise<V | undefined> {
  const deadline = clock.now() + TIMEOUT;
  for (let wait = FIRST_POLL; ; wait = Math.min(2 * wait, MAX_POLL)) {
    const lease = await acquireLease();
    if (lease === 'unavailable') return load(NO_LEASE);
    // With the lease too: another replica may have released it, and stored the result, since the last poll.
    const found = await find().catch((error: unknown) => {
      if (lease !== 'held') lease.release();
      throw error;
    });
    if (lease !== 'held') {
      if (found === undefined) return load(lease);
      lease.release();
    }
    if (found !== undefined) return found;
    if (clock.now() >= deadline) return load(NO_LEASE);
    await new Promise<void>((resolve) => {
      clock.after(wait, resolve);
    });
  }
}
