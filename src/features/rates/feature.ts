/**
 * The feature `rates`: a limiter for the requests of each tenant and each user. See docs/limits.md.
 */
import { createSealingKey } from '../../cache/sealing-key.ts';
import { ComponentType, RUNS } from '../../config/component.ts';
import type { Feature } from '../../proxy/feature.ts';
import { type FeatureBuild, sealingSecrets } from '../build.ts';
import { createRequestRates, type RequestRates, type SharedAccounts } from './request-rates.ts';
import { accountKeys } from './token-script.ts';

const RATES = new ComponentType<RequestRates>('rates', RUNS);

type RatesBuild = Pick<FeatureBuild, 'loaded' | 'runtime' | 'generation' | 'shared'>;

/** @returns undefined if no rate is configured */
export function createRates(build: RatesBuild): Feature | undefined {
  const { loaded, runtime, generation, shared } = build;
  const { limits, cache } = loaded.configuration;
  const { perTenant, perUser, tenants, costs, shadow, processes } = limits;
  if (perTenant === undefined && perUser === undefined && Object.keys(tenants).length === 0) return undefined;
  const limiter = generation.component(RATES, {
    fingerprint: [
      ...[perTenant, perUser, tenants, costs, shadow, processes],
      ...[cache.redis?.keyPrefix, sealingSecrets(loaded)[0]],
    ],
    uses: [shared],
    create: () => createRequestRates({ ...runtime, rates: limits, shared: sharedAccounts(build) }),
  });
  return { limiter };
}

function sharedAccounts({ loaded, runtime, shared: { store } }: RatesBuild): SharedAccounts | undefined {
  const { redis } = loaded.configuration.cache;
  const [secret] = sealingSecrets(loaded);
  if (store === undefined || redis === undefined || secret === undefined) return undefined;
  const key = createSealingKey(Buffer.from(secret, 'base64'), runtime.random);
  return { store, keysOf: (tenant, user) => accountKeys(redis.keyPrefix, key, tenant, user) };
}
