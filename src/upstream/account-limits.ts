/**
 * How the connections to the API server are shared among the accounts: tenants, the sources of unknown
 * credentials, and Stonegate itself. Each of the three kinds has connections that the others cannot use, and
 * within a kind no tenant and no address can use all of them.
 */
import { TENANT_QUEUES } from '../api/memory-bounds.ts';
import type { Account } from '../api/upstream-request.ts';
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { KeyedSemaphore } from '../lib/keyed-semaphore.ts';
import type { QueueBounds, Semaphore, SemaphoreOptions } from '../lib/semaphore.ts';
import { sourceKey } from '../lib/source-key.ts';
import { stonegateQueueFull, tenantQueueFull, timedOut, tooMany, unavailable } from './failure.ts';
import type { ReviewedWrites } from './reviewed-writes.ts';
import { type Limiter, WritePermits } from './write-permits.ts';

/**
 * Connections for requests that end by themselves, well below what an API server serves at once (600 by
 * default). Otherwise a thousand concurrent users would cause a thousand TLS handshakes at once, and all of
 * them would time out.
 */
export const MAX_CONNECTIONS = 256;
/** The other connections are always for other tenants. */
const CONNECTIONS_PER_TENANT = MAX_CONNECTIONS / 2;
/** Of all users of a tenant who have entered others, out of the tenant's. */
const CONNECTIONS_OF_GUESTS = CONNECTIONS_PER_TENANT / 4;
/** For probes, periodic provisioning and the like. */
const RESERVED_FOR_STONEGATE = 16;
const MAX_RESERVED_FOR_SOURCES = 64;

/**
 * Closed connections of one account: a new connection costs the API server a TLS handshake. A few are
 * ordinary, thousands are not.
 */
const CLOSED_CONNECTIONS = { burst: 64, perSecond: 20 };
/**
 * Long-running requests that a tenant begins: each may need a connection of its own. All watches that a
 * tenant may have by default are opened again at once after a restart.
 */
const LONG_RUNNING = { burst: 5_000, perSecond: 50 };

export interface AccountLimitsOptions {
  readonly clock: Clock;
  /** Milliseconds that a request waits. */
  readonly queueTimeout: number;
  readonly tenantQueue: QueueBounds;
  /** Validations of unknown credentials under way at once. */
  readonly sources: number;
  /** Shared with other connections to the same API server; absent if there is no limit for writes. */
  readonly reviewedWrites?: ReviewedWrites | undefined;
}

export interface AccountLimits {
  /**
   * For a request that ends by itself or is upgraded. A permit is held as long as the request has a
   * connection; with `reviewedWrites` some writes need a second one.
   */
  limiterOf(account: Account, method: string, target: string): Limiter;
  /**
   * Limits how many long-running requests begin, not how many there are. Undefined for an account without a
   * limit.
   */
  longRunningLimiterOf(account: Account): Semaphore | undefined;
  /** Refuses all waiting requests. */
  destroy(): void;
}

const STONEGATE = 'stonegate';

export function createAccountLimits(options: AccountLimitsOptions): AccountLimits {
  const { clock, queueTimeout, tenantQueue } = options;
  const sourceConnections = Math.min(options.sources, MAX_RESERVED_FOR_SOURCES);
  const { requests, bytes } = tenantQueue;
  const common = {
    clock,
    queueTimeout,
    queuePerKey: tenantQueue,
    queue: { requests: TENANT_QUEUES * requests, bytes: TENANT_QUEUES * bytes },
    delayedRelease: CLOSED_CONNECTIONS,
  };
  const connections = {
    tenant: new KeyedSemaphore({
      ...common,
      permits: MAX_CONNECTIONS - RESERVED_FOR_STONEGATE - sourceConnections,
      permitsPerKey: CONNECTIONS_PER_TENANT,
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
  const longRunning = new KeyedSemaphore({
    ...common,
    permits: Number.POSITIVE_INFINITY,
    // A permit is held for a moment only; `delayedRelease` is the limit.
    permitsPerKey: 1,
    delayedRelease: LONG_RUNNING,
    refusal: refuseWith(tenantQueueFull),
  });

  function connectionsOf(account: Account): Semaphore {
    switch (account.kind) {
      case 'tenant':
        return account.guests
          ? connections.tenant.of(account.tenant).part(CONNECTIONS_OF_GUESTS)
          : connections.tenant.of(account.tenant);
      case 'source':
        return connections.source.of(sourceKey(account.address));
      case 'stonegate':
        return connections.stonegate.of(STONEGATE);
    }
  }

  return {
    limiterOf(account, method, target) {
      const review = options.reviewedWrites?.permitsOf(account, method, target);
      const connection = connectionsOf(account);
      return review === undefined ? connection : new WritePermits(review, connection);
    },
    longRunningLimiterOf: (account) =>
      account.kind === 'tenant' ? longRunning.of(account.tenant) : undefined,
    destroy() {
      const gone = unavailable('the connections are being given up');
      for (const semaphore of [...Object.values(connections), longRunning]) semaphore.refuseAll(gone);
    },
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
