/**
 * Limits the rate of requests of each tenant and each user. They protect the API server for the others: its
 * Priority and Fairness sees Stonegate's credential, not the tenant. With Redis the limits hold for all
 * processes together; without it, or while it does not respond, each process admits its share.
 */
import { LRUCache } from 'lru-cache';
import type { SharedStore } from '../../cache/shared-store.ts';
import { highestCost, type RatesConfiguration } from '../../config/limits-configuration.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { createRateLimiter, ONCE_A_MINUTE, type Rate, type RateLimiter } from '../../limits/rate-limiter.ts';
import type { Limiter } from '../../proxy/limiter.ts';
import { requestClass } from '../../proxy/request/request-class.ts';
import { type Budget, type Shortage, spendShares } from './budget.ts';
import { RATE_LIMITED, RATE_SHARES_IN_FORCE } from './metrics.ts';
import { COMMAND_RATE, TokenBatch } from './token-batch.ts';
import { takeTokens } from './token-script.ts';

/** The least recently used is forgotten: in Redis its account stays. */
const MAX_ACCOUNTS = 10_000;

export interface SharedAccounts {
  readonly store: Pick<SharedStore, 'run'>;
  /** @returns the names of the tenant's account and of the user's, in one hash slot */
  keysOf(tenant: string, user: string): Readonly<Record<Budget['limit'], string>>;
}

export interface RequestRatesOptions extends Pick<Runtime, 'clock' | 'logger' | 'telemetry'> {
  readonly rates: RatesConfiguration;
  /** Undefined without Redis. */
  readonly shared: SharedAccounts | undefined;
}

export interface RequestRates extends Limiter {
  start(): void;
  stop(): void;
}

interface Account {
  readonly budgets: readonly Budget[];
  readonly batch: TokenBatch | undefined;
}

export function createRequestRates(options: RequestRatesOptions): RequestRates {
  const { rates, shared, clock, logger, telemetry } = options;
  const { costs, shadow, perTenant, perUser } = rates;
  const accounts = new LRUCache<string, Account>({ maxSize: MAX_ACCOUNTS, sizeCalculation: () => 1 });
  const commands = createRateLimiter({ ...COMMAND_RATE, clock });
  const warnings = createRateLimiter({ ...ONCE_A_MINUTE, clock });
  const shareOf = (rate: Rate): RateLimiter => createRateLimiter({ ...partOf(rate, rates), clock });
  const limitOf = (field: string, rate: Rate) => ({ field, rate, share: shareOf(rate) });
  const ofTenants = new Map(
    Object.entries(rates.tenants).map(([name, rate]) => [name, limitOf(`limits.tenants.${name}`, rate)]),
  );
  const ofOthers = perTenant && limitOf('limits.perTenant', perTenant);
  const ofUsers = perUser && limitOf('limits.perUser', perUser);
  let isLost = shared === undefined;
  let unmeasure = () => {};

  function budgetsOf(tenant: string, user: string): Budget[] {
    const ofTenant = ofTenants.get(tenant) ?? ofOthers;
    return [
      ...(ofTenant ? [{ ...ofTenant, limit: 'tenant' as const, owner: tenant, key: tenant }] : []),
      ...(ofUsers ? [{ ...ofUsers, limit: 'user' as const, owner: user, key: keyOf(tenant, user) }] : []),
    ];
  }

  function batchOf(tenant: string, user: string, budgets: readonly Budget[]): TokenBatch | undefined {
    if (shared === undefined || budgets.length === 0) return undefined;
    const named = shared.keysOf(tenant, user);
    const keys = budgets.map(({ limit }) => named[limit]);
    const limits = budgets.map(({ rate }) => rate);
    return new TokenBatch({
      ...{ budgets, clock, commands, name: keyOf(tenant, user) },
      async take(request) {
        const grant = await takeTokens(shared.store, keys, limits, request);
        setLost(grant === undefined);
        if (grant !== undefined && grant.garbage > 0 && warnings.take(tenant))
          logger.warn({ tenant }, 'an account of rates in Redis was unreadable and begins anew');
        return grant;
      },
    });
  }

  function accountOf(tenant: string, user: string): Account {
    const name = perUser === undefined ? tenant : keyOf(tenant, user);
    let account = accounts.get(name);
    if (account === undefined) {
      const budgets = budgetsOf(tenant, user);
      account = { budgets, batch: batchOf(tenant, perUser === undefined ? '' : user, budgets) };
      accounts.set(name, account);
    }
    return account;
  }

  function setLost(lost: boolean): void {
    isLost = lost;
  }

  /** While Redis is lost no request waits for it. */
  function withoutRedis({ budgets, batch }: Account, cost: number): Shortage | undefined {
    const shortage = spendShares(budgets, cost);
    if (shortage === undefined) batch?.owe(cost);
    return shortage;
  }

  function charge(account: Account, cost: number): Promise<Shortage | undefined> | Shortage | undefined {
    const { budgets, batch } = account;
    if (batch === undefined) return spendShares(budgets, cost);
    if (batch.spend(cost)) return undefined;
    if (isLost) {
      batch.renew();
      return withoutRedis(account, cost);
    }
    return (
      batch.shortage(cost) ??
      batch.pay(cost).then((result) => (result === 'lost' ? withoutRedis(account, cost) : result))
    );
  }

  function conclude(shortage: Shortage | undefined): undefined {
    if (shortage === undefined) return;
    telemetry.count(RATE_LIMITED, {
      limit: shortage.budget.limit,
      result: shadow ? 'shadow' : 'refused',
    });
    if (!shadow) throw refusal(shortage);
  }

  return {
    admit({ tenant, user, impersonator = user }, request) {
      const account = accountOf(tenant, impersonator.username);
      if (account.budgets.length === 0) return undefined;
      const charged = charge(account, costs[requestClass(request)]);
      return charged instanceof Promise ? charged.then(conclude) : conclude(charged);
    },
    start() {
      unmeasure = telemetry.measure(RATE_SHARES_IN_FORCE, () => (isLost ? 1 : 0));
    },
    stop: () => unmeasure(),
  };
}

/** A tenant's name has no such character. */
function keyOf(tenant: string, user: string): string {
  return `${tenant}\n${user}`;
}

/** What this process admits by itself; the dearest request must be possible. */
function partOf({ perSecond, burst }: Rate, rates: RatesConfiguration): Rate {
  const { processes } = rates;
  return { perSecond: perSecond / processes, burst: Math.max(burst / processes, highestCost(rates)) };
}

function refusal({ budget: { limit, field, owner, rate }, wait }: Shortage): StatusError {
  const retryAfterSeconds = Math.max(1, Math.ceil(wait / 1_000 - 1e-9));
  return new StatusError(
    limit === 'tenant' ? 'TenantRateExceeded' : 'UserRateExceeded',
    `Too many requests, please try again later: the ${limit} ${JSON.stringify(owner)} is over its rate of ${rate.perSecond} a second (${field}); there is room again in ${retryAfterSeconds} s`,
    { details: { retryAfterSeconds } },
  );
}
