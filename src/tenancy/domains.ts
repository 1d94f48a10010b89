/**
 * From where an identity comes to the tenant it belongs to. A Keystone domain's name is free text and a
 * tenant's is not, so a domain is its tenant only where its name is fit for one; every other needs an entry
 * in the configuration, and no two domains ever become one tenant.
 */
import type { TenantName, TenantOrigin } from '../api/identity.ts';
import { StatusError } from '../errors/status-error.ts';
import { isTenantName, toTenantName } from './tenant-name.ts';

export interface DomainOptions {
  /** Keystone domain name → tenant. */
  readonly domains: Readonly<Record<string, string>>;
  /** Names that a domain gets by an explicit entry only. */
  readonly reserved: ReadonlySet<string>;
}

/**
 * @returns the tenant an identity belongs to
 * @throws Error where two domains are given one tenant, or a tenant's name is none: the configuration's check
 *   says so first
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
 * @returns the name of the Keystone domain whose users are a tenant's; undefined where no domain can be: the
 *   one of the tenant's own name is another tenant's
 */
export function createDomainFinder(
  domains: Readonly<Record<string, string>>,
): (tenant: TenantName) => string | undefined {
  const names = new Map(Object.entries(domains).map(([domain, tenant]) => [tenant, domain]));
  return (tenant) => names.get(tenant) ?? (Object.hasOwn(domains, tenant) ? undefined : tenant);
}
