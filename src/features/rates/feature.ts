/**
 * The feature `rates`: a limiter for the requests of each tenant and each user. See docs/limits.md.
 */

import { z } from 'zod';
import { type CacheConfiguration, CORE_LIMITS, type CoreLimits } from '../../config/core-configuration.ts';
import { defineFeature } from '../define-feature.ts';
import * as METRICS from './metrics.ts';
import { type RatesConfiguration, rateFields, refuseUnaffordable } from './rates-configuration.ts';

interface RatesReads {
  readonly limits: RatesConfiguration & CoreLimits;
  readonly cache: CacheConfiguration;
}

export const rates = defineFeature({
  name: 'rates',
  sections: {
    limits: z
      .strictObject({ ...CORE_LIMITS, ...rateFields })
      .superRefine(refuseUnaffordable)
      .prefault({})
      .describe(
        'Limits for clients and tenants. Rates of requests are shared by all processes that use one Redis; all others apply to each process (replica or worker) separately.',
      ),
  },
  metrics: Object.values(METRICS),
  reads({ limits, cache: { redis, sealingKeys } }: RatesReads, { secret }) {
    const { unknownCredentials: _credentials, tenantQueue: _queue, streams: _streams, ...rates } = limits;
    const { perTenant, perUser, tenants } = rates;
    const hasRates = perTenant !== undefined || perUser !== undefined || Object.keys(tenants).length > 0;
    const [sealingKey] = sealingKeys;
    const accounts = redis && sealingKey && { keyPrefix: redis.keyPrefix, secret: secret(sealingKey) };
    return { rates: hasRates ? { rates, accounts } : undefined };
  },
});

export type RatesParts = ReturnType<typeof rates.reads>;
