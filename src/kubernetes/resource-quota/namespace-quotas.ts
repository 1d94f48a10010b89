/**
 * Finds what the ResourceQuotas of a namespace would refuse. The API server judges by them after its
 * webhooks, and controllers try for ever: without this check each attempt would reserve the quota of the
 * whole tenant for some seconds. An informer tells which request may exceed one; a GET confirms it.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go
 */

import type { Clock } from '../../lib/clock.ts';
import { fieldAt, isJSONObject } from '../../lib/json-object.ts';
import { createExpiringCache } from '../../limits/expiring-cache.ts';
import { ObjectStore, storableObjects } from '../informer-store.ts';
import type { Informers } from '../informers.ts';
import { KINDS, type Place, placeName, placeOf } from '../kubernetes-object.ts';
import { collectionPath, metadataOf } from '../object-format.ts';
import type { Objects } from '../objects.ts';
import { exceededText, exceedingQuota, type QuotaUse, unspecifiedText } from './quota-check.ts';
import { amountsIn, exceeding } from './usage.ts';

/** A ResourceQuota by which everything in its namespace is judged. */
interface NamespaceQuota {
  readonly name: string;
  readonly hard: Readonly<Record<string, string>>;
  readonly used: Readonly<Record<string, string>>;
}

export interface NamespaceQuotas {
  /**
   * @param object as it will be stored
   * @returns the message of the ResourceQuota that refuses the request; undefined if none is known
   * @throws StatusError if the API server does not respond, or refuses
   */
  refusal(object: unknown, use: QuotaUse): Promise<string | undefined>;
}

/** Of one namespace: others are left to the API server. */
const BOUNDS = { objects: 100, bytes: 1024 * 1024 };
/** Milliseconds for which a ResourceQuota is judged by without being read again. */
const MAX_AGE = 1_000;
const MAX_READ = 1_000;

export interface NamespaceQuotasOptions {
  readonly informers: Informers;
  readonly objects: Objects;
  readonly clock: Clock;
  /** The namespaces whose ResourceQuotas are watched. */
  readonly everywhere: Place;
}

export function createNamespaceQuotas({
  informers,
  objects,
  clock,
  everywhere,
}: NamespaceQuotasOptions): NamespaceQuotas {
  const store = new ObjectStore<NamespaceQuota>({ bounds: BOUNDS, onLeftOut() {} });
  const select = storableObjects(readQuota);
  informers.add({
    path: collectionPath(KINDS.ResourceQuota, everywhere),
    read: (object) => ({ ...select(object), tenant: placeName(placeIn(object.value)) }),
    store,
  });
  const read = createExpiringCache<Promise<NamespaceQuota | undefined>>({ maxEntries: MAX_READ, clock });

  /** Several requests share one GET, so that none of them ends it. */
  function present(place: Place, name: string): Promise<NamespaceQuota | undefined> {
    const key = JSON.stringify([placeName(place), name]);
    const known = read.get(key);
    if (known !== undefined) return known;
    const reading = objects.get(KINDS.ResourceQuota, place, name, NEVER).then((object) => readQuota(object));
    read.set(key, reading, clock.now() + MAX_AGE);
    return reading;
  }

  return {
    async refusal(object, use) {
      const place = placeIn(object);
      for (const suspected of store.valuesOf(placeName(place))) {
        if (refusalBy(suspected, use) === undefined) continue;
        const quota = await present(place, suspected.name);
        const refusal = quota && refusalBy(quota, use);
        if (refusal !== undefined) return refusal;
      }
      return undefined;
    },
  };
}

const NEVER = new AbortController().signal;

function refusalBy({ name, hard, used }: NamespaceQuota, use: QuotaUse): string | undefined {
  const missing = use.missing(Object.keys(hard));
  if (missing.length > 0) return unspecifiedText(name, missing);
  const amounts = { used: amountsIn(used), limited: amountsIn(hard) };
  const requested = exceedingQuota(exceeding(use.after, use.before), amounts.limited, amounts.used);
  return requested.size === 0 ? undefined : exceededText(name, requested, amounts, hard);
}

/** @returns undefined if it has scopes, or is no ResourceQuota */
function readQuota(object: unknown): NamespaceQuota | undefined {
  const { name } = metadataOf(object);
  const [scopes, selector] = [fieldAt(object, 'spec', 'scopes'), fieldAt(object, 'spec', 'scopeSelector')];
  const isScoped = (Array.isArray(scopes) && scopes.length > 0) || isJSONObject(selector);
  if (typeof name !== 'string' || isScoped) return undefined;
  return { name, hard: quantitiesAt(object, 'hard'), used: quantitiesAt(object, 'used') };
}

function quantitiesAt(object: unknown, field: 'hard' | 'used'): Readonly<Record<string, string>> {
  const found = fieldAt(object, 'status', field);
  return Object.fromEntries(
    Object.entries(isJSONObject(found) ? found : {}).map(([name, value]) => [name, String(value)]),
  );
}

function placeIn(object: unknown): Place {
  const { tenant, namespace } = metadataOf(object);
  const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return placeOf({ tenant: textOf(tenant), namespace: textOf(namespace) });
}
