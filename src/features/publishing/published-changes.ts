/**
 * Watches the objects on which published copies depend, so that a change is published soon. Only what of an
 * object counts causes a run. A change that is missed here is found by the next periodic run.
 */

import { type InformerStore, type StorableObject, storableObjects } from '../../kubernetes/informer-store.ts';
import { Informers, type InformerUpstream } from '../../kubernetes/informers.ts';
import { KINDS, type Place, placeOf } from '../../kubernetes/kubernetes-object.ts';
import { MANAGED_BY } from '../../kubernetes/managed-labels.ts';
import { collectionPath, metadataOf } from '../../kubernetes/object-format.ts';
import { PUBLISHED, type PublishedKind } from '../../kubernetes/published-objects.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { everywhere, operatorTenant } from '../../tenancy/places.ts';
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

export interface PublishedChangesOptions extends Runtime {
  readonly watched: readonly WatchedObjects[];
  readonly upstream: InformerUpstream;
  /** Called for each change; not for what is there at the start. */
  readonly onChange: () => void;
}

export function createPublishedChanges({
  watched,
  onChange,
  ...options
}: PublishedChangesOptions): Informers {
  const informers = new Informers({ ...options, name: 'publishing' });
  for (const { kind, place, fingerprint } of watched)
    informers.add({
      path: collectionPath(kind, place),
      read: storableObjects(fingerprint),
      store: new Fingerprints(onChange),
    });
  return informers;
}

type Fingerprinted = StorableObject<string>;

class Fingerprints implements InformerStore<Fingerprinted> {
  readonly #onChange: () => void;
  /** Undefined before the first list. */
  #objects: Map<string, Fingerprinted> | undefined;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  revisionOf({ key }: Fingerprinted): number | undefined {
    return this.#objects?.get(key)?.revision;
  }

  beginList() {
    const next = new Map<string, Fingerprinted>();
    return {
      take(objects: Iterable<Fingerprinted>) {
        for (const object of objects) if (object.value !== undefined) next.set(object.key, object);
      },
      end: () => {
        const before = this.#objects;
        this.#objects = next;
        const isSame = ([key, { value }]: [string, Fingerprinted]) => before?.get(key)?.value === value;
        if (before && (before.size !== next.size || ![...next].every(isSame))) this.#onChange();
      },
    };
  }

  put(object: Fingerprinted): void {
    const { key, value } = object;
    const before = this.#objects?.get(key)?.value;
    if (value === undefined) this.#objects?.delete(key);
    else this.#objects?.set(key, object);
    if (value !== before) this.#onChange();
  }

  delete({ key }: Fingerprinted): void {
    if (this.#objects?.delete(key)) this.#onChange();
  }
}

export function watchedObjects(
  configuration: PublishingConfiguration,
  rules: PublishingRules,
): WatchedObjects[] {
  const { facts } = rules;
  const tenant = operatorTenant(rules);
  return [
    ...(facts.hasTenantsInPaths ? [{ kind: KINDS.Tenant, place: {}, fingerprint: tenantFingerprint }] : []),
    {
      kind: KINDS.Namespace,
      place: everywhere(facts),
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

/** Changes with what publishing reads of a Tenant. The API server sorts labels. */
function tenantFingerprint(value: unknown): string {
  const { name, uid, labels, deletionTimestamp } = metadataOf(value);
  return JSON.stringify([name, uid, deletionTimestamp !== undefined, labels]);
}

/**
 * Changes with what publishing reads of a Namespace. Fields that tenants' users may write do not count:
 * otherwise they could cause one run after the other.
 */
export function namespaceFingerprint(
  value: unknown,
  { facts, namespaces }: Pick<PublishingRules, 'facts' | 'namespaces'>,
): string | undefined {
  const { name, tenant, uid, labels, deletionTimestamp } = metadataOf(value);
  const isOfSources = typeof name === 'string' && namespaces.includes(name);
  const guarded = facts.labelsNamespaces && isJSONObject(labels) ? guardedLabels(labels) : {};
  if (!isOfSources && !Object.hasOwn(guarded, MANAGED_BY)) return undefined;
  return JSON.stringify([tenant, name, uid, deletionTimestamp !== undefined, guarded]);
}
