/**
 * Maps the domain or issuer of an identity to a tenant. The name of a Keystone domain is free text: it is the
 * tenant's name if it is a valid one, otherwise the domain needs an entry in the configuration. Two domains
 * never map to one tenant.
 */

import { StatusError } from '../errors/status-error.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import type { TenantOrigin } from './identity.ts';
import { isTenantName, toTenantName } from './tenant-name.ts';

export interface DomainOptions {
  /** Keystone domain name → tenant. */
  readonly domains: Readonly<Record<string, string>>;
  /** Names that a domain gets by an explicit entry only. */
  readonly reserved: ReadonlySet<string>;
}

/**
 * @returns the tenant an identity belongs to
 * @throws Error if two domains have one tenant or a tenant's name is invalid; the configuration's validation
 *   reports it first
 */
export function createTenantResolver({
  domains,
  reserved,
}: DomainOptions): (origin: TenantOrigin) => TenantName {
  const entries = new Map(Object.entries(domains));
  const taken = new Set(entries.values());
  if (taken.size < entries.size) throw new Error('tenancy.domains gives two domains the same tenant');

  function tenantOfDomain(name: string): TenantName {
    const entry = entries.get(name);
    const tenant = entry ?? name;
    const unfit = entry === undefined && (reserved.has(name) || taken.has(name));
    if (unfit || !isTenantName(tenant)) {
      throw new StatusError(
        'TenantUnknown',
        `no tenant belongs to the Keystone domain ${JSON.stringify(name)}: an operator has to add it to tenancy.domains`,
      );
    }
    return tenant;
  }

  return (origin) => {
    switch (origin.from) {
      case 'domain':
        return tenantOfDomain(origin.domain.name);
      case 'issuer':
        return toTenantName(origin.tenant);
      case 'nowhere':
        throw new StatusError('TenantUnknown', 'anonymous requests belong to no tenant');
    }
  };
}

/**
 * @param domains Keystone domain name → tenant
 * @returns a function that returns the Keystone domain of a tenant's users; undefined if there is none: the
 *   domain with the tenant's name belongs to another tenant
 */
export function createDomainFinder(
  domains: Readonly<Record<string, string>>,
): (tenant: TenantName) => string | undefined {
  const names = new Map(Object.entries(domains).map(([domain, tenant]) => [tenant, domain]));
  return (tenant) => names.get(tenant) ?? (Object.hasOwn(domains, tenant) ? undefined : tenant);
}
