/**
 * Builds the limiter. With Redis all processes share the accounts of tenants and users.
 */
import { createSealingKey } from '../../cache/sealing-key.ts';
import { ComponentType, RUNS } from '../../config/component.ts';
import type { Feature } from '../../proxy/feature.ts';
import type { FeatureBuild } from '../build.ts';
import type { RatesParts } from './feature.ts';
import { createRequestRates, type RequestRates } from './request-rates.ts';
import { accountKeys } from './token-script.ts';

const RATES = new ComponentType<RequestRates>('rates', RUNS);

type RatesBuild = Pick<FeatureBuild<RatesParts>, 'parts' | 'runtime' | 'scope' | 'shared'>;

/** @returns undefined if no rate is configured */
export function createRates({ parts, runtime, scope, shared }: RatesBuild): Feature | undefined {
  if (parts.rates === undefined) return undefined;
  const limiter = scope.component(RATES, parts.rates, [shared], ({ rates, accounts }, [{ store }]) => {
    const key = accounts && createSealingKey(Buffer.from(accounts.secret, 'base64'), runtime.random);
    const shared = store &&
      key && {
        store,
        keysOf: (tenant: string, user: string) => accountKeys(accounts.keyPrefix, key, tenant, user),
      };
    return createRequestRates({ ...runtime, rates, shared });
  });
  return { limiter };
}
