/**
 * The informers of what quotas count: namespaces with their tenants, the counted kinds, and the TenantQuotas.
 */
import {
  type InformerList,
  ObjectStore,
  type ObjectStoreOptions,
  type StorableObject,
  storableObjects,
} from '../../kubernetes/informer-store.ts';
import type { Informers } from '../../kubernetes/informers.ts';
import { KINDS, type Place, type ResourceKind } from '../../kubernetes/kubernetes-object.ts';
import { PROJECT_ID } from '../../kubernetes/managed-labels.ts';
import { collectionPath, isMeta } from '../../kubernetes/object-format.ts';
import { resourceName } from '../../kubernetes/published-objects.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import { isTenantName } from '../../tenancy/tenant-name.ts';
import { COUNTED_KINDS } from './counted-writes.ts';
import { objectUsage } from './object-usage.ts';
import { metadataOf, tenantLabelOf } from './quota-tenants.ts';
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
  readonly quotas: TenantQuotaStore;
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
    read: storableObjects(quotaIn),
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
  const kinds = new Map([...count, ...COUNTED_KINDS].map((kind) => [resourceName(kind), kind]));
  for (const [name, kind] of kinds)
    informers.add({
      path: collectionPath(kind, everywhere),
      metadataOnly: !COUNTED_KINDS.includes(kind),
      read: countedObjects((value) => ({ place: placeName(value), usage: objectUsage(kind, value) })),
      store: usage.storeOf(name),
      onUpdate,
    });
}

interface TenantQuotaStoreOptions extends ObjectStoreOptions {
  readonly onChange: (tenant: string) => void;
}

/** TenantQuotas by their names, and which of them have changed. */
export class TenantQuotaStore extends ObjectStore<TenantQuota> {
  readonly #onChange: (tenant: string) => void;

  constructor(options: TenantQuotaStoreOptions) {
    super(options);
    this.#onChange = options.onChange;
  }

  override put(object: StorableObject<TenantQuota>): void {
    super.put(object);
    if (object.value !== undefined) this.#onChange(object.value.metadata.name);
  }

  override beginList(): InformerList<StorableObject<TenantQuota>> {
    const list = super.beginList();
    return {
      take: (objects) => list.take(objects),
      end: () => {
        list.end();
        for (const { metadata } of this.values()) this.#onChange(metadata.name);
      },
    };
  }
}

/** The namespace of an object, or the namespace itself, with the tenant on Arktos. */
function placeName(value: unknown): string {
  const { tenant, namespace, name } = metadataOf(value);
  return [tenant, namespace ?? name].filter((part) => typeof part === 'string').join('/');
}

/** @returns undefined for a namespace of no tenant */
function ownerIn(value: unknown, systemTenant: string | undefined): PlaceOwner | undefined {
  const { tenant: own, labels } = metadataOf(value);
  const tenant = systemTenant === undefined ? tenantLabelOf(value) : own;
  if (typeof tenant !== 'string' || !isTenantName(tenant) || tenant === systemTenant) return undefined;
  const project = isJSONObject(labels) ? labels[PROJECT_ID] : undefined;
  return { tenant, project: typeof project === 'string' ? project : '' };
}

function quotaIn(value: unknown): TenantQuota | undefined {
  if (!isJSONObject(value) || !isMeta(value.metadata)) return undefined;
  return readTenantQuota({
    apiVersion: '',
    kind: '',
    metadata: value.metadata,
    spec: value.spec,
    status: value.status,
  });
}
