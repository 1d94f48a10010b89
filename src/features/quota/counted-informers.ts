/**
 * The informers of what quotas count: namespaces with their tenants, and the counted kinds.
 */

import type { Informer } from '../../kubernetes/informer.ts';
import { Informers, type InformerUpstream } from '../../kubernetes/informers.ts';
import { KINDS, type ResourceKind } from '../../kubernetes/kubernetes-object.ts';
import { PROJECT_ID } from '../../kubernetes/managed-labels.ts';
import { collectionPath, metadataOf } from '../../kubernetes/object-format.ts';
import { resourceName } from '../../kubernetes/published-objects.ts';
import { objectUsage } from '../../kubernetes/resource-quota/object-usage.ts';
import type { Clock } from '../../lib/clock.ts';
import { fieldAt } from '../../lib/json-object.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { everywhere } from '../../tenancy/places.ts';
import { COUNTED_KINDS } from './counted-writes.ts';
import { type QuotaTenancy, tenantIn } from './quota-tenants.ts';
import { type CountedObject, countedObjects, type PlaceOwner, type UsageStore } from './usage-store.ts';

export interface CountedKinds {
  readonly tenancy: QuotaTenancy;
  /** Further kinds that are counted. */
  readonly count: readonly ResourceKind[];
}

export interface CountedInformersOptions extends Runtime, CountedKinds {
  readonly upstream: InformerUpstream;
  /** Called after each list, event and bookmark. */
  readonly onUpdate: () => void;
}

/** Milliseconds for which a kind cannot be listed or watched before its quotas say so. */
const FAILING = 30_000;

export class CountedInformers {
  readonly informers: Informers;
  readonly #clock: Clock;
  /** The keys are the names that kubectl gives the kinds. */
  readonly #byName = new Map<string, { kind: ResourceKind; informer: Informer<CountedObject> }>();
  /** When each kind was last listed anew by `renew`, by the monotonic clock. */
  readonly #renewed = new Map<string, number>();

  constructor(options: CountedInformersOptions, usage: UsageStore) {
    const { clock, tenancy, count, onUpdate } = options;
    this.#clock = clock;
    this.informers = new Informers({ ...options, name: 'quota' });
    for (const kind of [KINDS.Namespace, ...COUNTED_KINDS, ...count]) {
      const informer = this.informers.add({
        path: collectionPath(kind, everywhere(tenancy.facts)),
        metadataOnly: !COUNTED_KINDS.includes(kind),
        read: countedObjects((value) => ({
          place: placeIn(value),
          usage: objectUsage(kind, value),
          ...(kind === KINDS.Namespace && { owner: ownerIn(value, tenancy) }),
        })),
        store: usage.storeOf(resourceName(kind)),
        onUpdate,
      });
      this.#byName.set(resourceName(kind), { kind, informer });
    }
  }

  kindOf(name: string): ResourceKind | undefined {
    return this.#byName.get(name)?.kind;
  }

  /** The kinds that cannot be listed or watched. */
  get unlisted(): ReadonlySet<string> {
    const now = this.#clock.now();
    const failing = [...this.#byName].filter(
      ([, { informer }]) => now - (informer.failingSince ?? now) >= FAILING,
    );
    return new Set(failing.map(([kind]) => kind));
  }

  /** When the last complete list of a kind was requested, by the monotonic clock; negative if never. */
  listedAt(kind: string): number {
    return this.#byName.get(kind)?.informer.listedAt ?? Number.NEGATIVE_INFINITY;
  }

  /** Lists a kind anew, unless this was done at a time of the monotonic clock or later. */
  renew(kind: string, since = Number.POSITIVE_INFINITY): void {
    if ((this.#renewed.get(kind) ?? Number.NEGATIVE_INFINITY) >= since) return;
    this.#renewed.set(kind, this.#clock.monotonic());
    this.#byName.get(kind)?.informer.listAnew('behind');
  }
}

/** The namespace of an object, or the namespace itself, with the tenant on Arktos. */
function placeIn(value: unknown): string {
  const { tenant, namespace, name } = metadataOf(value);
  return [tenant, namespace ?? name].filter((part) => typeof part === 'string').join('/');
}

/** @returns undefined for a namespace of no tenant */
function ownerIn(value: unknown, tenancy: QuotaTenancy): PlaceOwner | undefined {
  const tenant = tenantIn(value, tenancy);
  const project = fieldAt(value, 'metadata', 'labels', PROJECT_ID);
  return tenant === undefined ? undefined : { tenant, project: typeof project === 'string' ? project : '' };
}
