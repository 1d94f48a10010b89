/**
 * Whose quota an object counts against: on Arktos its tenant's; in shared mode that of the tenant which the
 * label of its namespace names, which only provisioning and operators may set.
 */
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import { KINDS } from '../../kubernetes/kubernetes-object.ts';
import { metadataOf } from '../../kubernetes/object-format.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { TENANT_KEY } from '../../kubernetes/reserved-names.ts';
import type { Clock } from '../../lib/clock.ts';
import { fieldAt } from '../../lib/json-object.ts';
import { CancellableSingleFlight } from '../../lib/single-flight.ts';
import { createExpiringCache } from '../../limits/expiring-cache.ts';
import { type OperatorTenancy, operatorTenant } from '../../tenancy/places.ts';
import { isTenantName } from '../../tenancy/tenant-name.ts';
import { objectID } from './reservation.ts';

/**
 * @returns undefined for an object of no tenant
 * @throws StatusError if the API server does not tell
 */
export type QuotaTenantOf = (request: AdmissionRequest, signal: AbortSignal) => Promise<string | undefined>;

/** The system tenant has no quota. */
export function storedQuotaTenants(tenancy: OperatorTenancy): QuotaTenantOf {
  const operators = operatorTenant(tenancy);
  return async ({ object, oldObject }) => {
    const tenant = tenantNamed(metadataOf(object).tenant ?? metadataOf(oldObject).tenant);
    return tenant === operators ? undefined : tenant;
  };
}

/** Milliseconds for which the tenant of a namespace is cached. */
const MAX_AGE = 10_000;
const MAX_NAMESPACES = 10_000;

export function labelledQuotaTenants({
  objects,
  clock,
}: {
  readonly objects: Objects;
  readonly clock: Clock;
}): QuotaTenantOf {
  const known = createExpiringCache<string>({ maxEntries: MAX_NAMESPACES, clock });
  const reads = new CancellableSingleFlight<string | undefined>((signal) => signal.reason);

  async function tenantOfNamespace(name: string, signal: AbortSignal): Promise<string | undefined> {
    return known.get(name) ?? reads.do(name, signal, (signal) => readTenantOf(name, signal));
  }

  async function readTenantOf(name: string, signal: AbortSignal): Promise<string | undefined> {
    const namespace = await objects.get(KINDS.Namespace, {}, name, signal);
    const tenant = tenantNamed(namespace?.metadata.labels?.[TENANT_KEY]);
    if (tenant !== undefined) known.set(name, tenant, clock.now() + MAX_AGE);
    return tenant;
  }

  return async ({ group, resource, namespace, object }, signal) => {
    if (group === '' && resource === 'namespaces') return tenantNamed(tenantLabelOf(object));
    return namespace === '' ? undefined : tenantOfNamespace(namespace, signal);
  };
}

/** Another text can be no name of a TenantQuota. */
function tenantNamed(tenant: unknown): string | undefined {
  return typeof tenant === 'string' && isTenantName(tenant) ? tenant : undefined;
}

/** @returns the value of the label that says whose a namespace is */
export function tenantLabelOf(object: unknown): unknown {
  return fieldAt(object, 'metadata', 'labels', TENANT_KEY);
}

/** @returns the id of a reservation of the object; undefined for what is no stored or new object */
export function identityOf(object: unknown): string | undefined {
  const { tenant = '', namespace = '', name = '', uid } = metadataOf(object);
  return typeof uid === 'string' ? objectID(String(tenant), String(namespace), String(name), uid) : undefined;
}
