/**
 * The informers of what quotas count: namespaces with their tenants, and the counted kinds.
 */
import type { Informer } from '../../kubernetes/informer.ts';
import type { Informers } from '../../kubernetes/informers.ts';
import { KINDS, type ResourceKind } from '../../kubernetes/kubernetes-object.ts';
import { PROJECT_ID } from '../../kubernetes/managed-labels.ts';
import { collectionPath, metadataOf } from '../../kubernetes/object-format.ts';
import { resourceName } from '../../kubernetes/published-objects.ts';
import { objectUsage } from '../../kubernetes/resource-quota/object-usage.ts';
import { fieldAt } from '../../lib/json-object.ts';
import { everywhere } from '../../tenancy/places.ts';
import { COUNTED_KINDS } from './counted-writes.ts';
import { type QuotaTenancy, tenantIn } from './quota-tenants.ts';
import { type CountedObject, countedObjects, type PlaceOwner, type UsageStore } from './usage-store.ts';

export interface CountedKinds {
  readonly tenancy: QuotaTenancy;
  /** Further kinds that are counted. */
  readonly count: readonly ResourceKind[];
}

/** Each counted kind, with its informer, by the name that kubectl gives it. */
export type CountedInformers = ReadonlyMap<
  string,
  { readonly kind: ResourceKind; readonly informer: Informer<CountedObject> }
>;

/** @param onUpdate called after each list, event and bookmark */
export function addCountedInformers(
  informers: Informers,
  { tenancy, count }: CountedKinds,
  usage: UsageStore,
  onUpdate: () => void,
): CountedInformers {
  const place = everywhere(tenancy.facts);
  return new Map(
    [KINDS.Namespace, ...COUNTED_KINDS, ...count].map((kind) => {
      const informer = informers.add({
        path: collectionPath(kind, place),
        metadataOnly: !COUNTED_KINDS.includes(kind),
        read: countedObjects((value) => ({
          place: placeName(value),
          usage: objectUsage(kind, value),
          ...(kind === KINDS.Namespace && { owner: ownerIn(value, tenancy) }),
        })),
        store: usage.storeOf(resourceName(kind)),
        onUpdate,
      });
      return [resourceName(kind), { kind, informer }] as const;
    }),
  );
}

/** The namespace of an object, or the namespace itself, with the tenant on Arktos. */
function placeName(value: unknown): string {
  const { tenant, namespace, name } = metadataOf(value);
  return [tenant, namespace ?? name].filter((part) => typeof part === 'string').join('/');
}

/** @returns undefined for a namespace of no tenant */
function ownerIn(value: unknown, tenancy: QuotaTenancy): PlaceOwner | undefined {
  const tenant = tenantIn(value, tenancy);
  const project = fieldAt(value, 'metadata', 'labels', PROJECT_ID);
  return tenant === undefined ? undefined : { tenant, project: typeof project === 'string' ? project : '' };
}
