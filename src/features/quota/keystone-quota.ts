/**
 * What projects and tenants may use by Keystone's limits, for provisioning and for the quota controller: the
 * limits as last read, the directory's domains and projects, and the configuration together.
 */
import { ComponentType } from '../../config/component.ts';
import type { KeystoneDirectory } from '../../identity/keystone/keystone-directory.ts';
import { readKeystoneLimits } from '../../identity/keystone/keystone-limits.ts';
import type { Refusal } from '../../kubernetes/reconcile/plan.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { tenancyFacts } from '../bindings/feature.ts';
import type { FeatureBuild } from '../build.ts';
import { createTenancyMode } from '../tenancy-mode.ts';
import { type Hard, type QuotaOfLimits, quotaOfLimits } from './keystone-limits.ts';
import type { KeystoneLimitsConfiguration } from './keystone-limits-configuration.ts';
import { createLimitsInUse, type LimitsInUse } from './limits-in-use.ts';

export interface TenantHards {
  /** By the name of the tenant. A tenant of no domain has none. */
  readonly hards: ReadonlyMap<string, Hard>;
  readonly refusals: readonly Refusal[];
}

export interface KeystoneQuota {
  /** @throws StatusError KeystoneUnavailable if the limits were never read and cannot be read now */
  ofProjects(): Promise<QuotaOfLimits>;
  /** @throws StatusError KeystoneUnavailable, also if domains and projects cannot be listed */
  ofTenants(): Promise<TenantHards>;
}

export interface KeystoneQuotaOptions {
  readonly limits: Pick<LimitsInUse, 'get'>;
  readonly directory: Pick<KeystoneDirectory, 'domains' | 'projects'>;
  readonly mode: TenancyMode;
  readonly configuration: KeystoneLimitsConfiguration;
}

/** Reads the limits without keeping them. @throws StatusError KeystoneUnavailable */
export async function readQuota(
  client: Parameters<typeof readKeystoneLimits>[0],
  configuration: KeystoneLimitsConfiguration,
): Promise<QuotaOfLimits> {
  return quotaOfLimits(await readKeystoneLimits(client, configuration), configuration);
}

const KEYSTONE_QUOTA = new ComponentType<KeystoneQuota & Pick<LimitsInUse, 'close'>>(
  "quotas from Keystone's limits",
  { dispose: (quota) => quota.close() },
);

/** @param configuration undefined: no limits of Keystone are used */
export function createServedKeystoneQuota(
  { generation, keystone, loaded, runtime }: FeatureBuild,
  configuration: KeystoneLimitsConfiguration | undefined,
): KeystoneQuota | undefined {
  const directory = keystone?.client.directory;
  if (configuration === undefined || keystone === undefined || directory === undefined) return undefined;
  const { tenancy, authentication } = loaded.configuration;
  return generation.component(KEYSTONE_QUOTA, {
    fingerprint: [configuration, tenancy, authentication],
    uses: [keystone],
    create() {
      const read = () => readKeystoneLimits(keystone.client, configuration);
      const limits = createLimitsInUse({ ...runtime, read });
      const mode = createTenancyMode(loaded.configuration);
      return { ...createKeystoneQuota({ limits, directory, mode, configuration }), close: limits.close };
    },
  });
}

export function createKeystoneQuota(options: KeystoneQuotaOptions): KeystoneQuota {
  const { limits, directory, mode, configuration } = options;
  const { tenantOf } = tenancyFacts(mode, true);
  const ofProjects = async () => quotaOfLimits(await limits.get(), configuration);
  return {
    ofProjects,
    async ofTenants() {
      const [quota, domains, projects] = await Promise.all([
        ofProjects(),
        directory.domains(),
        directory.projects(),
      ]);
      const projectsOf = Map.groupBy(projects, ({ domainID }) => domainID);
      const hards = domains.flatMap((domain): [string, Hard][] => {
        const place = tenantOf(domain);
        if ('refused' in place) return [];
        return [[place.tenant, quota.ofDomain(domain, projectsOf.get(domain.id) ?? [])]];
      });
      return { hards: new Map(hards), refusals: quota.refusals };
    },
  };
}
