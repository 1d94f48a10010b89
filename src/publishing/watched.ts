/**
 * What is watched so that a change is published soon, and what of an object counts: other changes cause no
 * run.
 */
import type { PublishingConfiguration } from '../api/config-publishing-v1alpha1.ts';
import { PUBLISHED, type PublishedKind } from '../api/published-objects.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import { NAMESPACES, type PublishingRules } from './plan.ts';
import type { Place } from './ports.ts';
import { scopesOf, TENANTS } from './read-state.ts';

export interface WatchedObjects {
  readonly kind: PublishedKind;
  readonly place: Place;
  /** @returns undefined if the object does not count; equal for objects that mean the same */
  readonly fingerprint: (value: unknown) => string | undefined;
}

export function watchedObjects(
  configuration: PublishingConfiguration,
  { mode, systemTenant }: PublishingRules,
): WatchedObjects[] {
  const isArktos = mode === 'arktos';
  const system = isArktos ? { tenant: systemTenant } : {};
  return [
    ...(isArktos ? [{ kind: TENANTS, place: {}, fingerprint: receiverFingerprint }] : []),
    { kind: NAMESPACES, place: isArktos ? { tenant: 'all' } : {}, fingerprint: receiverFingerprint },
    ...scopesOf(configuration).map(({ kind, namespace }) => ({
      kind,
      place: { ...system, ...(namespace !== undefined && { namespace }) },
      fingerprint: sourceFingerprint,
    })),
  ];
}

/** Without the annotation an object is no source; a change of the annotation removes it here. */
function sourceFingerprint(value: unknown): string | undefined {
  const { name, uid, resourceVersion, deletionTimestamp, annotations } = metadataOf(value);
  if (!isJSONObject(annotations) || annotations[PUBLISHED] === undefined) return undefined;
  return JSON.stringify([name, uid, resourceVersion, deletionTimestamp !== undefined]);
}

/** Of a Tenant or a Namespace. */
function receiverFingerprint(value: unknown): string | undefined {
  const { name, tenant, uid, labels, deletionTimestamp } = metadataOf(value);
  const sorted = isJSONObject(labels)
    ? Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1))
    : [];
  return JSON.stringify([tenant, name, uid, deletionTimestamp !== undefined, sorted]);
}

function metadataOf(value: unknown): JSONObject {
  return isJSONObject(value) && isJSONObject(value.metadata) ? value.metadata : {};
}
