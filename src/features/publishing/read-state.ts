/**
 * Reads what a plan is computed from. Tenants and namespaces are read completely or not at all; sources and
 * copies kind by kind, so that a kind that cannot be read stops no other, and none of its copies is deleted.
 */

import { reasonOf, StatusError } from '../../errors/status-error.ts';
import {
  KINDS,
  objectKey,
  type Place,
  placeOf,
  type StoredObject,
} from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { NAMESPACED_KINDS, type PublishedKind, resourceName } from '../../kubernetes/published-objects.ts';
import type { Existing } from '../../kubernetes/reconcile/plan.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import { everywhere, operatorTenant } from '../../tenancy/places.ts';
import { type Copy, identityOf } from './copy.ts';
import {
  desiredCopies,
  keyOfCopy,
  type NamespaceFacts,
  type PublishingRules,
  type PublishingState,
  type UnreadSources,
} from './plan.ts';
import type { PublishingConfiguration } from './publishing-configuration.ts';
import { isTerminating, namespaceReceivers, type Receiver, tenantReceivers } from './receivers.ts';
import { COPIES, isAnnotated, type SourceObject } from './source.ts';

export interface ReadOptions {
  readonly objects: Objects;
  readonly rules: PublishingRules;
  readonly configuration: PublishingConfiguration;
  /** Whether nothing is published any more: every copy is to be deleted. */
  readonly withdraw?: boolean;
  readonly signal: AbortSignal;
}

const CONCURRENCY = 4;
const ALL = '';
/** Sources of one kind in one namespace: with more, none of them is published or withdrawn. */
const MAX_SOURCES = 200;

/** @throws StatusError as `Objects.list` does, if tenants or namespaces cannot be read */
export async function readPublishing(options: ReadOptions): Promise<PublishingState> {
  const { rules } = options;
  const { receivers, namespaces, present } = await readReceivers(options);
  const unread: UnreadSources[] = [];
  const sources = options.withdraw === true ? [] : await readSources(options, present, unread);
  const desired = await desiredCopies({ sources, receivers }, rules);
  const wanted = new Map(desired.copies.map((copy) => [keyOfCopy(copy), copy]));
  const copies = await readCopies(options, wanted, unread);
  const known = new Set(
    copies.map(({ kind, place, object }) => objectKey(kind, place, object.metadata.name)),
  );
  const created = new Set(namespaces.map(({ tenant, name }) => `${tenant}/${name}`));
  const missing = desired.copies.filter(
    (copy) =>
      !known.has(keyOfCopy(copy)) &&
      (copy.place.tenant === undefined ||
        copy.place.namespace === undefined ||
        created.has(`${copy.place.tenant}/${copy.place.namespace}`)),
  );
  const found = await mapWithConcurrency(missing, CONCURRENCY, async (copy) => {
    const { kind, place, object } = copy;
    // What failed once is not tried for every tenant.
    if (unread.some((one) => one.kind === kind && one.namespace === undefined)) return [];
    const reading = await attempt(() =>
      options.objects.get(kind, place, object.metadata.name, options.signal),
    );
    if ('failure' in reading) unread.push({ kind, reason: reading.failure });
    else if (reading.value !== undefined) return [existing(kind, place, reading.value, copy)];
    return [];
  });
  return { desired, receivers, namespaces, existing: [...copies, ...found.flat()], unread };
}

interface ReceiverFacts {
  readonly receivers: readonly Receiver[];
  readonly namespaces: readonly NamespaceFacts[];
  /** The namespaces of `publishing.namespaces` that exist. */
  readonly present: ReadonlySet<string>;
}

async function readReceivers({ objects, rules, signal }: ReadOptions): Promise<ReceiverFacts> {
  const { facts, namespaces: publishing, systemTenant } = rules;
  if (!facts.hasTenantsInPaths) {
    const all = await objects.list(KINDS.Namespace, {}, ALL, signal, whole);
    return { receivers: namespaceReceivers(all, publishing), namespaces: [], present: namesOf(all) };
  }
  const [tenants, all] = await Promise.all([
    objects.list(KINDS.Tenant, {}, ALL, signal, whole),
    objects.list(KINDS.Namespace, everywhere(facts), ALL, signal, whole),
  ]);
  const ofSystem = all.filter(({ metadata }) => metadata.tenant === systemTenant);
  return {
    receivers: tenantReceivers(tenants, systemTenant),
    namespaces: all.flatMap((object) => {
      const { tenant, name } = object.metadata;
      return tenant === undefined ? [] : [{ tenant, name, isTerminating: isTerminating(object) }];
    }),
    present: namesOf(ofSystem),
  };
}

function namesOf(namespaces: readonly StoredObject[]): ReadonlySet<string> {
  return new Set(namespaces.filter((one) => !isTerminating(one)).map(({ metadata }) => metadata.name));
}

interface SourceScope {
  readonly kind: PublishedKind;
  readonly namespace?: string;
}

/** A namespace that is gone by mistake takes no copy with it. */
async function readSources(
  options: ReadOptions,
  present: ReadonlySet<string>,
  unread: UnreadSources[],
): Promise<readonly SourceObject[]> {
  const { objects, rules, configuration, signal } = options;
  const tenant = operatorTenant(rules);
  const results = await mapWithConcurrency(scopesOf(configuration), CONCURRENCY, async (scope) => {
    const { kind, namespace } = scope;
    const place: Place = placeOf({ tenant, namespace });
    const reading =
      namespace === undefined || present.has(namespace)
        ? await attempt(() =>
            objects.list(kind, place, ALL, signal, (object) => (isAnnotated(object) ? object : undefined)),
          )
        : { failure: `the namespace ${namespace} is not there: its copies stay` };
    const annotated = 'failure' in reading ? [] : reading.value.filter((object) => object !== undefined);
    const problem =
      'failure' in reading
        ? reading.failure
        : annotated.length > MAX_SOURCES
          ? `more than ${MAX_SOURCES} are published: its copies stay as they are`
          : undefined;
    if (problem === undefined) return annotated.map((object) => ({ kind, object }));
    unread.push({ ...scope, reason: problem });
    return [];
  });
  return results.flat();
}

/** The scopes in the order of the configuration: the first one counts. */
export function scopesOf({ namespaces, clusterScoped, kinds }: PublishingConfiguration): SourceScope[] {
  const namespaced = namespaces.flatMap((namespace) =>
    [...NAMESPACED_KINDS, ...kinds].map((kind) => ({ kind, namespace })),
  );
  return [...namespaced, ...distinctKinds(clusterScoped.map(({ kind }) => kind)).map((kind) => ({ kind }))];
}

/** Kinds of which there are copies, or were. */
function copiedKinds({ clusterScoped, kinds }: PublishingConfiguration): PublishedKind[] {
  return distinctKinds([...NAMESPACED_KINDS, ...kinds, ...clusterScoped.map(({ kind }) => kind)]);
}

function distinctKinds(kinds: readonly PublishedKind[]): PublishedKind[] {
  return [...new Map(kinds.map((kind) => [resourceName(kind), kind])).values()];
}

async function readCopies(
  { objects, rules, configuration, signal }: ReadOptions,
  wanted: ReadonlyMap<string, Copy>,
  unread: UnreadSources[],
): Promise<readonly Existing[]> {
  const place = everywhere(rules.facts);
  const results = await mapWithConcurrency(copiedKinds(configuration), CONCURRENCY, async (kind) => {
    const reading = await attempt(() =>
      objects.list(kind, place, COPIES, signal, (object) => {
        const own = placeOf(object.metadata);
        return existing(kind, own, object, wanted.get(objectKey(kind, own, object.metadata.name)));
      }),
    );
    if (!('failure' in reading)) return reading.value;
    unread.push({ kind, reason: reading.failure });
    return [];
  });
  return results.flat();
}

/** @param copy the desired one of that name */
function existing(kind: PublishedKind, place: Place, object: StoredObject, copy: Copy | undefined): Existing {
  return { kind, place, object: identityOf(object), comparison: copy?.compare(object) };
}

const whole = (object: StoredObject): StoredObject => object;

async function attempt<T>(
  read: () => Promise<T>,
): Promise<{ readonly value: T } | { readonly failure: string }> {
  try {
    return { value: await read() };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { failure: reasonOf(error) };
  }
}
