/**
 * The feature `rates`: a limiter for the requests of each tenant and each user. See docs/limits.md.
 */

import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { defineFeature } from '../define-feature.ts';
import * as METRICS from './metrics.ts';

export const rates = defineFeature({
  name: 'rates',
  sections: {},
  metrics: Object.values(METRICS),
  reads({ limits, cache: { redis, sealingKeys } }: Pick<CoreConfiguration, 'limits' | 'cache'>, { secret }) {
    const { unknownCredentials: _credentials, tenantQueue: _queue, streams: _streams, ...rates } = limits;
    const { perTenant, perUser, tenants } = rates;
    const hasRates = perTenant !== undefined || perUser !== undefined || Object.keys(tenants).length > 0;
    const [sealingKey] = sealingKeys;
    const accounts = redis && sealingKey && { keyPrefix: redis.keyPrefix, secret: secret(sealingKey) };
    return { rates: hasRates ? { rates, accounts } : undefined };
  },
});

export type RatesParts = ReturnType<typeof rates.reads>;
