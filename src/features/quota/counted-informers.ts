/**
 * The informers of what quotas count: namespaces with their tenants, the counted kinds, and the TenantQuotas.
 */
import { type ObjectStore, storableObjects } from '../../kubernetes/informer-store.ts';
import type { Informers } from '../../kubernetes/informers.ts';
import { KINDS, type Place, type ResourceKind } from '../../kubernetes/kubernetes-object.ts';
import { PROJECT_ID } from '../../kubernetes/managed-labels.ts';
import { collectionPath, metadataOf } from '../../kubernetes/object-format.ts';
import { resourceName } from '../../kubernetes/published-objects.ts';
import { fieldAt } from '../../lib/json-object.ts';
import { isTenantName } from '../../tenancy/tenant-name.ts';
import { COUNTED_KINDS } from './counted-writes.ts';
import { objectUsage } from './object-usage.ts';
import { tenantLabelOf } from './quota-tenants.ts';
import { readTenantQuota, TENANT_QUOTAS, type TenantQuota } from './tenant-quota-v1alpha1.ts';
import { countedObjects, type PlaceOwner, type UsageStore } from './usage-store.ts';

export interface CountedKinds {
  /** Where the TenantQuotas are. */
  readonly place: Place;
  /** The system tenant, on Arktos; undefined in shared mode. */
  readonly systemTenant: string | undefined;
  /** Further kinds that are counted. */
  readonly count: readonly ResourceKind[];
}

export interface CountedStores {
  readonly usage: UsageStore;
  readonly quotas: ObjectStore<TenantQuota>;
  /** Called after each list, event and bookmark. */
  readonly onUpdate: () => void;
}

export function addCountedInformers(
  informers: Informers,
  { place, systemTenant, count }: CountedKinds,
  { usage, quotas, onUpdate }: CountedStores,
): void {
  const everywhere: Place = systemTenant === undefined ? {} : { tenant: 'all' };
  informers.add({
    path: collectionPath(TENANT_QUOTAS, place),
    read: storableObjects(readTenantQuota),
    store: quotas,
    onUpdate,
  });
  informers.add({
    path: collectionPath(KINDS.Namespace, everywhere),
    metadataOnly: true,
    read: countedObjects((value) => ({
      place: placeName(value),
      usage: objectUsage(KINDS.Namespace, value),
      owner: ownerIn(value, systemTenant),
    })),
    store: usage.storeOf('namespaces'),
    onUpdate,
  });
  for (const kind of [...COUNTED_KINDS, ...count])
    informers.add({
      path: collectionPath(kind, everywhere),
      metadataOnly: !COUNTED_KINDS.includes(kind),
      read: countedObjects((value) => ({ place: placeName(value), usage: objectUsage(kind, value) })),
      store: usage.storeOf(resourceName(kind)),
      onUpdate,
    });
}

/** The namespace of an object, or the namespace itself, with the tenant on Arktos. */
function placeName(value: unknown): string {
  const { tenant, namespace, name } = metadataOf(value);
  return [tenant, namespace ?? name].filter((part) => typeof part === 'string').join('/');
}

/** @returns undefined for a namespace of no tenant */
function ownerIn(value: unknown, systemTenant: string | undefined): PlaceOwner | undefined {
  const tenant = systemTenant === undefined ? tenantLabelOf(value) : fieldAt(value, 'metadata', 'tenant');
  if (typeof tenant !== 'string' || !isTenantName(tenant) || tenant === systemTenant) return undefined;
  const project = fieldAt(value, 'metadata', 'labels', PROJECT_ID);
  return { tenant, project: typeof project === 'string' ? project : '' };
}
