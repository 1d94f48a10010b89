/**
 * How the connections to the API server are shared among the accounts: tenants, the sources of unknown
 * credentials, and Stonegate itself. Each of the three kinds has connections that the others cannot use, and
 * within a kind no tenant and no address can use all of them.
 */

import { StatusError } from '../errors/status-error.ts';
import type { Account } from '../kubernetes/upstream-request.ts';
import type { Clock } from '../lib/clock.ts';
import { sourceKey } from '../lib/source-key.ts';
import { KeyedSemaphore, type Semaphore, type SemaphoreOptions } from '../limits/keyed-semaphore.ts';
import { GUEST_QUEUES, TENANT_QUEUES } from '../limits/memory-bounds.ts';
import { createRateLimiter } from '../limits/rate-limiter.ts';
import {
  stonegateQueueFull,
  tenantOverRate,
  tenantQueueFull,
  timedOut,
  tooMany,
  unavailable,
} from './failure.ts';
import type { ReviewedWritePermits } from './reviewed-write-permits.ts';

/**
 * Connections for requests that end by themselves, well below what an API server serves at once (600 by
 * default). Otherwise a thousand concurrent users would cause a thousand TLS handshakes at once, and all of
 * them would time out.
 */
export const MAX_CONNECTIONS = 256;
/** The other connections are always for other tenants. */
const CONNECTIONS_PER_TENANT = MAX_CONNECTIONS / 2;
/** Shared by all users of a tenant who have entered others; they are the tenant's too. */
const CONNECTIONS_OF_GUESTS = CONNECTIONS_PER_TENANT / 4;
/** Connections for probes, periodic provisioning and the like. */
const RESERVED_FOR_STONEGATE = 16;
const MAX_RESERVED_FOR_SOURCES = 64;

/**
 * Connections that the requests of one tenant cause to be closed: a new connection costs the API server a
 * TLS handshake. A few are ordinary, thousands are not.
 */
const CLOSED_CONNECTIONS = { burst: 128, perSecond: 20 };
/**
 * Long-running requests that a tenant begins: each may need a connection of its own. All watches that a
 * tenant may have by default are opened again at once after a restart.
 */
const LONG_RUNNING = { burst: 5_000, perSecond: 50 };

/** Bounds what waits of one tenant. */
export interface TenantQueue {
  readonly requests: number;
  /** Bytes of memory that the waiting requests take. */
  readonly bytes: number;
}

export interface AccountLimitsOptions {
  readonly clock: Clock;
  /** Milliseconds that a request waits. */
  readonly queueTimeout: number;
  readonly tenantQueue: TenantQueue;
  /** Validations of unknown credentials under way at once. */
  readonly sources: number;
  /** Shared with other connections to the same API server. */
  readonly reviewedWrites?: ReviewedWritePermits | undefined;
}

export interface AccountLimits {
  /** @returns the size of a waiting request with so many bytes: no more than `tenantQueue.requests` fit */
  queuedSize(bytes: number): number;
  /** The account's connections for requests that end by themselves or are upgraded. */
  connectionsOf(account: Account): Semaphore;
  /** The part of them that the account may use, if it may not use all. */
  partOf(account: Account): Semaphore | undefined;
  /**
   * Admits a request, or all streams of one watch at once: a watch that is refused half-way would have used
   * up the rate of others that could have begun.
   *
   * @param streams long-running requests that begin
   * @throws StatusError TenantRateExceeded if a tenant has closed too many connections, or begins too many
   *   long-running requests
   */
  admit(account: Account, streams: number): void;
  /** Gives back the rate of streams that were never sent, and so have cost the API server nothing. */
  notSent(account: Account, streams: number): void;
  /** A request of the account caused its connection to be closed. */
  closed(account: Account): void;
  /** Absent if there is no limit for writes. */
  readonly reviewedWrites: ReviewedWritePermits | undefined;
  /** Refuses all waiting requests. */
  destroy(): void;
}

const STONEGATE = 'stonegate';

export function createAccountLimits(options: AccountLimitsOptions): AccountLimits {
  const { clock, tenantQueue } = options;
  const connections = createConnections(options);
  const closedConnections = createRateLimiter({ ...CLOSED_CONNECTIONS, clock });
  const longRunning = createRateLimiter({ ...LONG_RUNNING, clock });

  const minimumSize = Math.floor(tenantQueue.bytes / tenantQueue.requests);

  return {
    queuedSize: (bytes) => Math.max(bytes, minimumSize),
    connectionsOf(account) {
      switch (account.kind) {
        case 'tenant':
          return connections.tenant.of(account.tenant);
        case 'source':
          return connections.source.of(sourceKey(account.address));
        case 'stonegate':
          return connections.stonegate.of(STONEGATE);
      }
    },
    partOf: (account) =>
      account.kind === 'tenant' && account.guests ? connections.guests.of(account.tenant) : undefined,
    admit(account, streams) {
      if (account.kind !== 'tenant') return;
      const { tenant } = account;
      if (closedConnections.wait(tenant) > 0) throw tenantOverRate(tenant, 'has cancelled too many requests');
      // The rest of a wider watch is owed: it would wait too long for so much rate.
      if (longRunning.wait(tenant, Math.min(streams, LONG_RUNNING.perSecond)) > 0)
        throw tenantOverRate(tenant, 'begins too many watches, followed logs and connections');
      if (streams > 0) longRunning.spend(tenant, streams);
    },
    notSent(account, streams) {
      if (account.kind === 'tenant') longRunning.spend(account.tenant, -streams);
    },
    closed(account) {
      if (account.kind === 'tenant') closedConnections.spend(account.tenant, 1);
    },
    reviewedWrites: options.reviewedWrites,
    destroy() {
      const gone = unavailable('the connections are being given up');
      for (const semaphore of Object.values(connections)) semaphore.refuseAll(gone);
    },
  };
}

/** The connections of each kind of accounts, and the part of the tenants' that guests may use. */
function createConnections({ clock, queueTimeout, tenantQueue, sources }: AccountLimitsOptions) {
  const sourceConnections = Math.min(sources, MAX_RESERVED_FOR_SOURCES);
  const common = {
    clock,
    queueTimeout,
    queuePerKey: tenantQueue.bytes,
    queue: TENANT_QUEUES * tenantQueue.bytes,
  };
  return {
    tenant: new KeyedSemaphore({
      ...common,
      permits: MAX_CONNECTIONS - RESERVED_FOR_STONEGATE - sourceConnections,
      permitsPerKey: CONNECTIONS_PER_TENANT,
      refusal: refuseWith(tenantQueueFull),
    }),
    guests: new KeyedSemaphore({
      ...common,
      permits: Number.POSITIVE_INFINITY,
      permitsPerKey: CONNECTIONS_OF_GUESTS,
      queuePerKey: tenantQueue.bytes / 4,
      queue: GUEST_QUEUES * tenantQueue.bytes,
      refusal: refuseWith(tenantQueueFull),
    }),
    source: new KeyedSemaphore({
      ...common,
      permits: sourceConnections,
      permitsPerKey: Math.ceil(sourceConnections / 2),
      refusal: refuseWith(
        () => new StatusError('CredentialRateExceeded', tooMany('new credentials from your address')),
      ),
    }),
    stonegate: new KeyedSemaphore({
      ...common,
      permits: RESERVED_FOR_STONEGATE,
      permitsPerKey: RESERVED_FOR_STONEGATE,
      refusal: refuseWith(stonegateQueueFull),
    }),
  };
}

/** Tenants have a byte budget each; all addresses together have one. */
export function budgetKeyOf(account: Account): string {
  return account.kind === 'tenant' ? `tenant ${account.tenant}` : account.kind;
}

function refuseWith(full: (key: string) => StatusError): SemaphoreOptions['refusal'] {
  return (reason, key) =>
    reason === 'full' ? full(key) : timedOut("none of its account's connections became free");
}
