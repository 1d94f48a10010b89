/** Processes that share rate accounts, with the clock of the test. */

import type { RatesConfiguration } from '../../../src/config/limits-configuration.ts';
import { StatusError } from '../../../src/errors/status-error.ts';
import {
  createRequestRates,
  type RequestRates,
  type RequestRatesOptions,
} from '../../../src/features/rates/request-rates.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import type { LimitedRequest } from '../../../src/proxy/limiter.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { createFakeClock } from '../fake-clock.ts';
import { createMemoryAccounts } from './memory-accounts.ts';

export const COSTS = { get: 1, list: 5, watch: 5, write: 2, connect: 10 };

export const GET: LimitedRequest = { isResourceRequest: true, verb: 'get' };
export const LIST: LimitedRequest = { isResourceRequest: true, verb: 'list' };
export const WATCH: LimitedRequest = { isResourceRequest: true, verb: 'watch', longRunning: 'watch' };
export const WRITE: LimitedRequest = { isResourceRequest: true, verb: 'create' };
export const EXEC: LimitedRequest = { isResourceRequest: true, verb: 'create', longRunning: 'exec' };

export interface SiteOptions {
  readonly rates: Partial<RatesConfiguration>;
  /** By default one. */
  readonly processes?: number;
  readonly redis?: boolean;
  readonly more?: Partial<RequestRatesOptions>;
}

export function createRatesSite({ rates, processes = 1, redis = false, more = {} }: SiteOptions) {
  const clock = createFakeClock();
  const accounts = createMemoryAccounts(clock);
  const create = (
    changes: Partial<RatesConfiguration> = {},
    others: Partial<RequestRatesOptions> = {},
  ): RequestRates =>
    createRequestRates({
      rates: { tenants: {}, costs: COSTS, shadow: false, processes, ...rates, ...changes },
      shared: redis
        ? { store: accounts, keysOf: (tenant, user) => ({ tenant, user: `${tenant}:${user}` }) }
        : undefined,
      ...{ clock, logger: silentLogger, telemetry: noTelemetry },
      ...more,
      ...others,
    });
  const running = Array.from({ length: processes }, () => create());
  return {
    clock,
    accounts,
    create,
    processes: running,
    /** @returns undefined if the request is admitted; otherwise the refusal */
    async ask(
      request: LimitedRequest = GET,
      { user = 'alice', as, tenant = 'acme', by = running[0] }: Asking = {},
    ): Promise<StatusError | undefined> {
      const named = (username: string) => ({ username, uid: '', groups: [], extra: {} });
      const who = as === undefined ? { user: named(user) } : { user: named(as), impersonator: named(user) };
      try {
        await by?.admit({ tenant: toTenantName(tenant), ...who }, request);
        return undefined;
      } catch (error) {
        if (error instanceof StatusError) return error;
        throw error;
      }
    },
  };
}

interface Asking {
  readonly user?: string;
  /** The user whom the caller impersonates. */
  readonly as?: string;
  readonly tenant?: string;
  /** By default the first process. */
  readonly by?: RequestRates | undefined;
}
