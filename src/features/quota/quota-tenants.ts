/**
 * Whose quota an object counts against: on Arktos its tenant's; in shared mode that of the tenant which the
 * label of its namespace names, which only provisioning and operators may set.
 */
import type { TenancyConfiguration } from '../../config/core-configuration.ts';
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import { KINDS } from '../../kubernetes/kubernetes-object.ts';
import { metadataOf } from '../../kubernetes/object-format.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { resourceName } from '../../kubernetes/published-objects.ts';
import { TENANT_KEY } from '../../kubernetes/reserved-names.ts';
import type { Clock } from '../../lib/clock.ts';
import { fieldAt } from '../../lib/json-object.ts';
import { createExpiringCache } from '../../limits/expiring-cache.ts';
import { operatorTenant } from '../../tenancy/places.ts';
import { isTenantName } from '../../tenancy/tenant-name.ts';

export type QuotaTenancy = Pick<TenancyConfiguration, 'facts' | 'systemTenant'>;

/**
 * @returns undefined for an object of no tenant
 * @throws StatusError if the API server does not respond, or refuses
 */
export type QuotaTenantOf = (request: AdmissionRequest, signal: AbortSignal) => Promise<string | undefined>;

/** Milliseconds for which the tenant of a namespace is cached. */
const MAX_AGE = 10_000;
const MAX_NAMESPACES = 10_000;

export function createQuotaTenants({
  tenancy,
  objects,
  clock,
}: {
  readonly tenancy: QuotaTenancy;
  readonly objects: Objects;
  readonly clock: Clock;
}): QuotaTenantOf {
  const known = createExpiringCache<string>({ maxEntries: MAX_NAMESPACES, clock });

  async function tenantOfNamespace(name: string, signal: AbortSignal): Promise<string | undefined> {
    const cached = known.get(name);
    if (cached !== undefined) return cached;
    const tenant = tenantIn(await objects.get(KINDS.Namespace, {}, name, signal), tenancy);
    if (tenant !== undefined) known.set(name, tenant, clock.now() + MAX_AGE);
    return tenant;
  }

  return async (request, signal) => {
    const { namespace, object, oldObject } = request;
    if (!tenancy.facts.labelsNamespaces || resourceName(request) === 'namespaces')
      return tenantIn(object, tenancy) ?? tenantIn(oldObject, tenancy);
    return namespace === '' ? undefined : tenantOfNamespace(namespace, signal);
  };
}

/**
 * The system tenant has no quota. A text that is no name of a tenant cannot be the name of a TenantQuota.
 *
 * @param object a namespace; on Arktos any object
 * @returns undefined if it belongs to no tenant
 */
export function tenantIn(object: unknown, tenancy: QuotaTenancy): string | undefined {
  const tenant = tenancy.facts.labelsNamespaces
    ? fieldAt(object, 'metadata', 'labels', TENANT_KEY)
    : metadataOf(object).tenant;
  const isTenant = typeof tenant === 'string' && isTenantName(tenant) && tenant !== operatorTenant(tenancy);
  return isTenant ? tenant : undefined;
}
