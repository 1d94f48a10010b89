/**
 * What projects and tenants may use by Keystone's limits, for provisioning and for the quota controller: the
 * limits as last read, the directory's domains and projects, and the configuration together.
 */

import { ComponentType, type Handle } from '../../config/component.ts';
import type { KeystoneClient } from '../../identity/keystone/keystone.ts';
import { readKeystoneLimits } from '../../identity/keystone/keystone-limits.ts';
import type { DomainReference } from '../../tenancy/keystone-v3.ts';
import type { FeatureBuild } from '../build.ts';
import type { TenancySettings } from '../tenancy-settings.ts';
import type { KeystoneLimitsParts } from './feature.ts';
import {
  type Hard,
  type KeystoneQuota,
  type QuotaOfLimits,
  quotaOfLimits,
  type TenantHards,
} from './keystone-limits.ts';
import type { KeystoneLimitsConfiguration } from './keystone-limits-configuration.ts';
import { createLastRead } from './last-read.ts';
import { KEYSTONE_LIMITS_AGE } from './metrics.ts';

/** Reads the limits without keeping them. @throws StatusError KeystoneUnavailable */
export async function readQuota(
  client: Pick<KeystoneClient, 'ownToken' | 'service'>,
  configuration: KeystoneLimitsConfiguration,
): Promise<QuotaOfLimits> {
  return quotaOfLimits(await readKeystoneLimits(client, configuration), configuration);
}

const KEYSTONE_QUOTA = new ComponentType<KeystoneQuota>("quotas from Keystone's limits", {
  dispose: (quota) => quota.close(),
});

/** Names the tenant of a domain, as provisioning does. */
type TenantOfDomain = (domain: DomainReference) => { readonly tenant: string } | { readonly refused: string };

/**
 * @param tenantOf names the tenant of a domain as the tenancy mode of the part does
 * @returns undefined if quotas do not follow limits of Keystone
 */
export function createServedKeystoneQuota(
  { parts, scope, keystone, runtime }: FeatureBuild<KeystoneLimitsParts>,
  tenantOf: (settings: TenancySettings) => TenantOfDomain,
): Handle<KeystoneQuota> | undefined {
  const directory = keystone?.client.directory;
  if (parts.limits === undefined || keystone === undefined || directory === undefined) return undefined;
  return scope.component(
    KEYSTONE_QUOTA,
    parts.limits,
    [keystone],
    ({ limits: configuration, others, tenancy }) => {
      const limits = createLastRead({
        ...runtime,
        what: "Keystone's limits",
        read: () => readQuota(keystone.client, configuration),
      });
      const tenantOfDomain = tenantOf(tenancy);
      const tenants = createLastRead({
        ...runtime,
        what: 'the quotas of tenants',
        async read(): Promise<TenantHards> {
          const [{ ofDomain, refusals }, domains, projects] = await Promise.all([
            limits.get(),
            directory.domains(),
            directory.projects(),
          ]);
          const projectsOf = Map.groupBy(projects, ({ domainID }) => domainID);
          const hards = domains.flatMap((domain): [string, Hard][] => {
            const place = tenantOfDomain(domain);
            if ('refused' in place) return [];
            const hard = ofDomain(domain, projectsOf.get(domain.id) ?? []);
            return [[place.tenant, { ...others, ...hard }]];
          });
          return { hards: new Map(hards), refusals };
        },
      });
      return {
        ofProjects: limits.get,
        ofTenants: tenants.latest,
        close: runtime.telemetry.measure(KEYSTONE_LIMITS_AGE, limits.age),
      };
    },
  );
}
