/**
 * The budgets that a request is charged to, its tenant's and its user's. All of them are checked before one
 * is charged, so that a refused request costs nothing.
 */
import type { Rate, RateLimiter } from '../../limits/rate-limiter.ts';

export interface Budget {
  readonly limit: 'tenant' | 'user';
  /** The field of the configuration. */
  readonly field: string;
  /** The name of the tenant or user. */
  readonly owner: string;
  /** Identifies the budget in this process. */
  readonly key: string;
  /** The rate of all processes together. */
  readonly rate: Rate;
  /** This process' part of the rate. */
  readonly share: RateLimiter;
}

/** Why a request is refused. */
export interface Shortage {
  readonly budget: Budget;
  /** Milliseconds until all budgets have what it costs. */
  readonly wait: number;
}

/**
 * @param waitOf milliseconds until a budget has what a request costs
 * @returns the first budget that lacks something; undefined if none does
 */
export function shortageOf(
  budgets: readonly Budget[],
  waitOf: (budget: Budget, at: number) => number,
): Shortage | undefined {
  let short: Budget | undefined;
  let longest = 0;
  for (const [at, budget] of budgets.entries()) {
    const wait = waitOf(budget, at);
    if (wait > 0) short ??= budget;
    longest = Math.max(longest, wait);
  }
  return short && { budget: short, wait: longest };
}

/** Charges this process' shares, if all of them have what it costs. */
export function spendShares(budgets: readonly Budget[], cost: number): Shortage | undefined {
  for (const [at, { share, key }] of budgets.entries()) {
    if (share.take(key, cost)) continue;
    for (const charged of budgets.slice(0, at)) charged.share.spend(charged.key, -cost);
    return shortageOf(budgets, (budget) => budget.share.wait(budget.key, cost));
  }
  return undefined;
}
