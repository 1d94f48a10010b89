/**
 * What the ResourceQuotas of a namespace would refuse. The API server judges by them after its webhooks, and
 * controllers try for ever: without this check each attempt would reserve the quota of the whole tenant for
 * some seconds. An informer tells which request may exceed one; a GET confirms it.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go
 */
import { ObjectStore, storableObjects } from '../../kubernetes/informer-store.ts';
import type { Informers } from '../../kubernetes/informers.ts';
import { KINDS, type Place, placeOf } from '../../kubernetes/kubernetes-object.ts';
import { collectionPath, metadataOf } from '../../kubernetes/object-format.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import type { Clock } from '../../lib/clock.ts';
import { fieldAt, isJSONObject } from '../../lib/json-object.ts';
import { createExpiringCache } from '../../limits/expiring-cache.ts';
import { type Claim, createLedger, judge } from './ledger.ts';
import type { QuotaRequest, QuotaVerdict } from './reservations.ts';
import { amountsIn } from './stored-ledger.ts';

/** A ResourceQuota by which everything in its namespace is judged. */
interface NamespaceQuota {
  readonly name: string;
  readonly hard: Readonly<Record<string, string>>;
  readonly used: Readonly<Record<string, string>>;
}

export interface NamespaceRefusal {
  readonly verdict: QuotaVerdict;
  readonly quota: NamespaceQuota;
}

export interface NamespaceQuotas {
  /**
   * @param object as it will be stored
   * @returns undefined if no ResourceQuota is known that refuses the request
   * @throws StatusError if the API server does not respond, or refuses
   */
  refusal(object: unknown, request: Asked): Promise<NamespaceRefusal | undefined>;
}

type Asked = Pick<QuotaRequest, keyof Claim | 'missing'>;

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
    read: (object) => ({ ...select(object), tenant: keyOf(placeIn(object.value)) }),
    store,
  });
  const read = createExpiringCache<Promise<NamespaceQuota | undefined>>({ maxEntries: MAX_READ, clock });

  /** Several requests share one GET, so that none of them ends it. */
  function present(place: Place, name: string): Promise<NamespaceQuota | undefined> {
    const key = JSON.stringify([keyOf(place), name]);
    const known = read.get(key);
    if (known !== undefined) return known;
    const reading = objects.get(KINDS.ResourceQuota, place, name, NEVER).then((object) => readQuota(object));
    read.set(key, reading, clock.now() + MAX_AGE);
    return reading;
  }

  return {
    async refusal(object, request) {
      const place = placeIn(object);
      for (const suspected of store.valuesOf(keyOf(place))) {
        if (verdictOf(suspected, request).kind === 'admitted') continue;
        const quota = await present(place, suspected.name);
        if (quota === undefined) continue;
        const verdict = verdictOf(quota, request);
        if (verdict.kind !== 'admitted') return { verdict, quota };
      }
      return undefined;
    },
  };
}

const NEVER = new AbortController().signal;

function verdictOf({ hard, used }: NamespaceQuota, request: Asked): QuotaVerdict {
  const missing = request.missing(Object.keys(hard));
  if (missing.length > 0) return { kind: 'unspecified', missing };
  // A resource that is not counted yet is left to the API server.
  const known = Object.fromEntries(Object.entries(hard).filter(([resource]) => resource in used));
  return judge(createLedger(amountsIn(known), amountsIn(used), []), request, '-');
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

function keyOf({ tenant = '', namespace = '' }: Place): string {
  return `${tenant}/${namespace}`;
}
