/**
 * How the connections to the API server are shared among the accounts: tenants, the sources of unknown credentials, and
 * Stonegate itself. Each of the three has a part that the others cannot take, and within a part no tenant and no
 * address can take everything.
 */
import type { Account } from '../api/upstream-request.ts';
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { sourceKey } from '../lib/source-key.ts';
import { timedOut, unavailable } from './failure.ts';
import type { KeyLimiter } from './key-limiter.ts';
import { Limiter } from './limiter.ts';
import type { LimiterOptions, QueueBounds } from './limiter-options.ts';

/**
 * Connections for requests that end by themselves, well below what an API server serves at once (600 by default). A
 * thousand users at once would else be a thousand TLS handshakes at once, which all come too late.
 */
export const MAX_CONNECTIONS = 256;
/** The other connections are always for other tenants. */
const CONNECTIONS_PER_TENANT = MAX_CONNECTIONS / 2;
/** For probes, periodic provisioning and the like. */
const RESERVED_FOR_STONEGATE = 16;
const MAX_RESERVED_FOR_SOURCES = 64;

/** Closed connections of one key: a few are ordinary, thousands are not. */
const CLOSINGS = { burst: 64, perSecond: 20 };
/**
 * Long-running requests that a tenant opens: each may need a connection of its own. All watches that a tenant may have
 * by default are opened again at once after a restart.
 */
const OPENINGS = { burst: 5_000, perSecond: 50 };

export interface AccountLimitsOptions {
  readonly clock: Clock;
  /** Milliseconds that a request waits. */
  readonly queueTimeout: number;
  readonly tenantQueue: QueueBounds;
  /** Validations of unknown credentials under way at once. */
  readonly sources: number;
}

export interface AccountLimits {
  /** Holds a slot as long as the request has a connection. */
  connectionsOf(account: Account): KeyLimiter;
  /**
   * For requests that may run for ever: how many begin, not how many there are. Undefined for an account without a
   * limit.
   */
  openingsOf(account: Account): KeyLimiter | undefined;
  /** Refuses whatever waits. */
  destroy(): void;
}

const STONEGATE = 'stonegate';

export function createAccountLimits(options: AccountLimitsOptions): AccountLimits {
  const { clock, queueTimeout, tenantQueue } = options;
  const sourceSlots = Math.min(options.sources, MAX_RESERVED_FOR_SOURCES);
  const common = { clock, queueTimeout, queue: tenantQueue, closings: CLOSINGS, tooLate };
  const connections = {
    tenant: new Limiter({
      ...common,
      slots: MAX_CONNECTIONS - RESERVED_FOR_STONEGATE - sourceSlots,
      slotsPerKey: CONNECTIONS_PER_TENANT,
      full: tenantQueueFull,
    }),
    source: new Limiter({
      ...common,
      slots: sourceSlots,
      slotsPerKey: Math.ceil(sourceSlots / 2),
      full: () => new StatusError('CredentialRateExceeded', tooMany('new credentials from your address')),
    }),
    stonegate: new Limiter({
      ...common,
      slots: RESERVED_FOR_STONEGATE,
      slotsPerKey: RESERVED_FOR_STONEGATE,
      full: () => unavailable("too many of Stonegate's own requests wait"),
    }),
  };
  const openings = new Limiter({
    ...common,
    slots: Number.POSITIVE_INFINITY,
    // Each slot is held for a moment only; `closings` limits how soon it is free again.
    slotsPerKey: 1,
    closings: OPENINGS,
    full: tenantQueueFull,
  });
  return {
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
    openingsOf: (account) => (account.kind === 'tenant' ? openings.of(account.tenant) : undefined),
    destroy() {
      const gone = unavailable('the connections are being given up');
      for (const limiter of [...Object.values(connections), openings]) limiter.refuseAll(gone);
    },
  };
}

function tooMany(what: string): string {
  return `Too many requests, please try again later: ${what}`;
}

function tenantQueueFull(tenant: string): StatusError {
  return new StatusError(
    'TenantRateExceeded',
    tooMany(`the tenant ${JSON.stringify(tenant)} has too many requests waiting for the API server`),
  );
}

const tooLate: LimiterOptions['tooLate'] = () => timedOut("none of its account's connections became free");
