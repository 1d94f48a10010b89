/**
 * The administrations in a configuration. What the API server's objects decide is checked when it is known.
 */
import type { TenancyConfiguration } from '../../config/core-configuration.ts';
import type { Rule } from '../../config/problem.ts';
import { isEnterable } from '../../kubernetes/reserved-names.ts';
import { ownValue } from '../../lib/json-object.ts';
import { InvalidPolicy } from '../../rbac/invalid-policy.ts';
import { checkAdministration } from './administrations.ts';
import type { AuthorizationConfiguration } from './authorization-configuration.ts';

interface Configuration {
  readonly authorization: AuthorizationConfiguration;
  readonly tenancy: TenancyConfiguration;
}

/** The domains are mapped as by the tenancy mode: by an entry, or by a name that no entry has taken. */
export function administrationSettings({ authorization, tenancy: { domains, systemTenant } }: Configuration) {
  return {
    ...authorization,
    systemTenant,
    tenantOfDomain(domain: string): string | undefined {
      const isTaken = Object.values(domains).includes(domain);
      const tenant = ownValue(domains, domain) ?? (isTaken ? undefined : domain);
      return tenant !== undefined && isEnterable(tenant, systemTenant) ? tenant : undefined;
    },
  };
}

export function administrationRules(configuration: Configuration): Rule[] {
  const settings = administrationSettings(configuration);
  return settings.administrations.flatMap((administration, at): Rule[] => {
    try {
      checkAdministration(administration, settings);
      return [];
    } catch (error) {
      if (!(error instanceof InvalidPolicy)) throw error;
      const path = ['authorization', 'administrations', at];
      return [[path, true, error.message.replace(/^(?:spec|metadata)\./, '')]];
    }
  });
}
