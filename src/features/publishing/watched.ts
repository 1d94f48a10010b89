/**
 * What is watched so that a change is published soon, and what of an object counts: other changes cause no
 * run.
 */

import { KINDS, type Place, placeOf } from '../../kubernetes/kubernetes-object.ts';
import { MANAGED_BY } from '../../kubernetes/managed-labels.ts';
import { PUBLISHED, type PublishedKind } from '../../kubernetes/published-objects.ts';
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import type { PublishingRules } from './plan.ts';
import type { PublishingConfiguration } from './publishing-configuration.ts';
import { scopesOf } from './read-state.ts';
import { guardedLabels } from './receivers.ts';

export interface WatchedObjects {
  readonly kind: PublishedKind;
  readonly place: Place;
  /** @returns undefined if the object does not count; equal for objects that mean the same */
  readonly fingerprint: (value: unknown) => string | undefined;
}

export function watchedObjects(
  configuration: PublishingConfiguration,
  rules: PublishingRules,
): WatchedObjects[] {
  const { mode, systemTenant } = rules;
  const isArktos = mode === 'arktos';
  const tenant = isArktos ? systemTenant : undefined;
  return [
    ...(isArktos ? [{ kind: KINDS.Tenant, place: {}, fingerprint: tenantFingerprint }] : []),
    {
      kind: KINDS.Namespace,
      place: isArktos ? { tenant: 'all' } : {},
      fingerprint: (value) => namespaceFingerprint(value, rules),
    },
    ...scopesOf(configuration).map(({ kind, namespace }) => ({
      kind,
      place: placeOf({ tenant, namespace }),
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

/** Changes with what publishing reads of a Tenant. */
export function tenantFingerprint(value: unknown): string | undefined {
  const { name, uid, labels, deletionTimestamp } = metadataOf(value);
  return JSON.stringify([name, uid, deletionTimestamp !== undefined, sorted(textsIn(labels))]);
}

/**
 * Of a Namespace. Tenants' users may write most of what is in it: of that nothing counts, or they could cause
 * one run after the other.
 */
export function namespaceFingerprint(
  value: unknown,
  { mode, namespaces }: Pick<PublishingRules, 'mode' | 'namespaces'>,
): string | undefined {
  const { name, tenant, uid, labels, deletionTimestamp } = metadataOf(value);
  const isOfSources = typeof name === 'string' && namespaces.includes(name);
  const guarded = mode === 'shared' ? sorted(guardedLabels(textsIn(labels))) : [];
  if (!isOfSources && !guarded.some(([key]) => key === MANAGED_BY)) return undefined;
  return JSON.stringify([tenant, name, uid, deletionTimestamp !== undefined, guarded]);
}

function textsIn(map: unknown): Readonly<Record<string, string>> {
  const entries = isJSONObject(map) ? Object.entries(map) : [];
  return Object.fromEntries(entries.map(([key, value]) => [key, String(value)]));
}

function sorted(map: Readonly<Record<string, string>>): (readonly [string, string])[] {
  return Object.entries(map).sort(([one], [other]) => (one < other ? -1 : 1));
}

function metadataOf(value: unknown): JSONObject {
  return isJSONObject(value) && isJSONObject(value.metadata) ? value.metadata : {};
}
