/**
 * The feature `keystone-limits`: what projects and tenants may use by Keystone's limits, for provisioning and
 * for the quota controller. See docs/quota.md.
 */

import { defineFeature } from '../define-feature.ts';
import { type TenancyReads, tenancySettings } from '../tenancy-settings.ts';
import type { KeystoneLimitsConfiguration } from './keystone-limits-configuration.ts';
import * as METRICS from './metrics.ts';

interface KeystoneLimitsReads extends TenancyReads {
  readonly quota?: {
    readonly default: Readonly<Record<string, string>>;
    readonly keystoneLimits?: KeystoneLimitsConfiguration;
  };
}

export const keystoneLimits = defineFeature({
  name: 'keystone-limits',
  sections: {},
  rules: ({ quota, authentication }: KeystoneLimitsReads) => [
    [
      'authentication.keystone.serviceCredential',
      quota?.keystoneLimits !== undefined && authentication.keystone?.serviceCredential === undefined,
      'is required with quota.keystoneLimits: only a service on the system is shown all limits',
    ],
  ],
  metrics: Object.values(METRICS),
  reads(configuration: KeystoneLimitsReads) {
    const { quota } = configuration;
    const limits = quota?.keystoneLimits;
    if (quota === undefined || limits === undefined) return { limits: undefined };
    const others = Object.entries(quota.default).filter(
      ([resource]) => !Object.hasOwn(limits.resources, resource),
    );
    return {
      limits: { limits, others: Object.fromEntries(others), tenancy: tenancySettings(configuration) },
    };
  },
});

export type KeystoneLimitsParts = ReturnType<typeof keystoneLimits.reads>;
export type { Hard, KeystoneQuota, TenantHards } from './keystone-limits.ts';

export { keystoneLimitsSchema } from './keystone-limits-configuration.ts';
