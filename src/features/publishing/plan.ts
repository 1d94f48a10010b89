/**
 * Which copies there should be, and what publishing changes at the API server. Pure. A binding is copied
 * only where its role is copied too, or is Stonegate's own. What no source asks for any more is deleted, if
 * it is a copy; nothing is deleted whose sources could not be read.
 */
import {
  isBindingKind,
  KINDS,
  objectKey,
  type Place,
  placeName,
  type StoredObject,
} from '../../kubernetes/kubernetes-object.ts';
import { hasManagedLabel, MANAGED_BY, STONEGATE } from '../../kubernetes/managed-labels.ts';
import { PUBLISHED_FROM, type PublishedKind, resourceName } from '../../kubernetes/published-objects.ts';
import {
  type DeletionRule,
  type Desired,
  type Existing,
  makePlan,
  PER_TURN,
  type Plan,
  type Refusal,
  titleOf,
} from '../../kubernetes/reconcile/plan.ts';
import { forEachInTurns } from '../../lib/concurrency.ts';
import { roleKey, roleOf } from './content.ts';
import { Copy } from './copy.ts';
import type { Receiver } from './receivers.ts';
import {
  readSource,
  type Source,
  type SourceObject,
  type SourceRules,
  sourceName,
  sourceOfCopy,
} from './source.ts';
import { selectsTenant } from './tenant-selector.ts';

export interface NamespaceFacts {
  readonly tenant: string;
  readonly name: string;
  readonly isTerminating: boolean;
}

/** Sources or copies that could not be read: copies of them stay as they are. */
export interface UnreadSources {
  readonly kind: PublishedKind;
  /** Absent: everywhere. */
  readonly namespace?: string;
  readonly reason: string;
}

export interface PublishingState {
  readonly desired: DesiredCopies;
  readonly receivers: readonly Receiver[];
  /** The tenants' namespaces (arktos); empty in shared mode. */
  readonly namespaces: readonly NamespaceFacts[];
  /** Every copy, and what else has the name of a desired copy. */
  readonly existing: readonly Existing[];
  readonly unread: readonly UnreadSources[];
}

export interface PublishingRules extends SourceRules {
  /** `publishing.namespaces`. */
  readonly namespaces: readonly string[];
  readonly systemTenant: string;
}

export function planPublishing(state: PublishingState, rules: PublishingRules): Promise<Plan> {
  const { desired, namespaces, unread } = state;
  const { copies } = desired;
  const facts = createSourceFacts(state, rules);
  const existing = new Map(
    state.existing.map((one) => [objectKey(one.kind, one.place, one.object.metadata.name), one]),
  );
  const terminating = new Set(
    namespaces.filter(({ isTerminating }) => isTerminating).map(({ tenant, name }) => `${tenant}/${name}`),
  );
  const isTerminating = ({ place }: Copy) => terminating.has(`${place.tenant}/${place.namespace}`);
  const readable = copies.filter((copy) => !facts.isUnread(copy, existing.get(keyOfCopy(copy))));
  const published = readable.filter((copy) => !isTerminating(copy));
  const wanted = new Set(copies.map(keyOfCopy));
  return makePlan({
    desired: [...newNamespaces(published, namespaces), ...published],
    existing: [...existing].map(([key, one]) => ({
      ...one,
      deletion: wanted.has(key) ? undefined : facts.deletionOf(one),
    })),
    refusals: [
      ...desired.refusals,
      ...readable
        .filter(isTerminating)
        .map((copy) => ({ subject: titleOf(copy), reason: 'the namespace is being deleted' })),
    ],
    unread: unread.map(({ kind, namespace = 'all namespaces', reason }) => ({
      subject: `${resourceName(kind)} in ${namespace}`,
      reason,
    })),
  });
}

/** Namespaces to create in tenants; in shared mode the namespaces are those of projects and exist already. */
function newNamespaces(copies: readonly Copy[], namespaces: readonly NamespaceFacts[]): Desired[] {
  const known = new Set(namespaces.map(({ tenant, name }) => `${tenant}/${name}`));
  return copies.flatMap(({ place: { tenant, namespace } }): Desired[] => {
    const key = `${tenant}/${namespace}`;
    if (tenant === undefined || namespace === undefined || known.has(key)) return [];
    known.add(key);
    const metadata = { name: namespace, labels: { [MANAGED_BY]: STONEGATE } };
    const object = { apiVersion: 'v1', kind: 'Namespace', metadata };
    return [
      {
        kind: KINDS.Namespace,
        place: { tenant },
        object,
        reason: 'for published objects',
        // It does not matter which client has created it.
        compare: (found) => (found === undefined ? { action: 'create', object } : { action: 'none' }),
      },
    ];
  });
}

/** What follows for a copy from the sources that were read, and from those that were not. */
function createSourceFacts({ unread, receivers }: PublishingState, rules: PublishingRules) {
  const { facts, systemTenant, namespaces } = rules;

  function sourceOf({ kind, place: { namespace }, object }: Existing) {
    return sourceOfCopy(kind, object, namespace === undefined ? namespaces : [...namespaces, namespace]);
  }

  /** A binding depends on the roles that are published. */
  function isUnreadSource(kind: PublishedKind, namespace: string | undefined): boolean {
    const names = [kind.resource, ...(isBindingKind(kind) ? ['roles', 'clusterroles'] : [])].map((resource) =>
      resourceName({ ...kind, resource }),
    );
    return unread.some(
      (one) =>
        names.includes(resourceName(one.kind)) &&
        (one.namespace === undefined || one.namespace === namespace),
    );
  }

  /** A source may have been made of a copy, with its labels: it is no copy where sources are. */
  function isOfSources({ tenant, namespace }: Place, of: string | undefined): boolean {
    if (facts.operatorIsATenant) return tenant === undefined || tenant === systemTenant;
    return namespace === undefined || namespace === of || namespaces.includes(namespace);
  }

  return {
    /** Whether its source, or that of the copy that is there and may come first, could not be read. */
    isUnread({ source }: Copy, existing: Existing | undefined): boolean {
      if (unread.length === 0) return false;
      if (isUnreadSource(source.kind, source.namespace)) return true;
      const other = existing && sourceOf(existing);
      return other !== undefined && isUnreadSource(source.kind, other.namespace);
    },
    /** @returns undefined unless it is a copy for which there is no source any more */
    deletionOf(existing: Existing): DeletionRule | undefined {
      const { kind, place, object } = existing;
      const source = sourceOf(existing);
      if (source === undefined || object.metadata.deletionTimestamp !== undefined) return undefined;
      if (isOfSources(place, source.namespace) || isUnreadSource(kind, source.namespace)) return undefined;
      if (receivers.some((receiver) => receiver.isTerminating && isWithin(place, receiver.place)))
        return undefined;
      return {
        reason: 'no source asks for it any more',
        isOwned: (current) =>
          hasManagedLabel(current.metadata) && sourceDigestOf(current) === sourceDigestOf(object),
      };
    },
  };
}

function sourceDigestOf({ metadata }: StoredObject): string | undefined {
  return metadata.labels?.[PUBLISHED_FROM];
}

function isWithin(place: Place, { tenant, namespace }: Place): boolean {
  return place.tenant === tenant && (namespace === undefined || place.namespace === namespace);
}

export interface DesiredCopies {
  readonly copies: readonly Copy[];
  readonly refusals: readonly Refusal[];
}

export interface PublishedFacts {
  /** Annotated objects, those of the namespace that comes first in the configuration first. */
  readonly sources: readonly SourceObject[];
  readonly receivers: readonly Receiver[];
}

export async function desiredCopies(
  { sources, receivers }: PublishedFacts,
  rules: SourceRules,
): Promise<DesiredCopies> {
  const unknownWords = rules.facts.hasTenantsInPaths
    ? 'no tenant is called'
    : 'no namespace belongs to a Keystone domain with the id';
  const refusals: Refusal[] = [];
  const valid: Source[] = [];
  for (const one of sources) {
    const source = readSource(one, rules);
    if ('refused' in source) refusals.push({ subject: subjectOf(one), reason: source.refused });
    else {
      valid.push(source);
      const unknown = unknownTenants(source, receivers);
      if (unknown.length > 0)
        refusals.push({ subject: source.title, reason: `${unknownWords} ${unknown.join(', ')}` });
    }
  }
  const copies = new Map<string, Copy>();
  const living = receivers.filter(({ isTerminating }) => !isTerminating);
  await forEachInTurns(living, Math.ceil(PER_TURN / Math.max(1, valid.length)), (receiver) => {
    for (const source of valid.filter(({ selector }) => selectsTenant(selector, receiver))) {
      const copy = new Copy(source, placeIn(source, receiver), receiver);
      const key = keyOfCopy(copy);
      const other = copies.get(key);
      if (other === undefined) copies.set(key, copy);
      else
        refusals.push({
          subject: source.title,
          reason: `${other.source.title} comes first in ${placeName(copy.place)}`,
        });
    }
  });
  return { copies: [...copies.values()].filter((copy) => hasRole(copy, copies, refusals)), refusals };
}

export function keyOfCopy({ kind, place, object }: Copy): string {
  return objectKey(kind, place, object.metadata.name);
}

function placeIn({ namespace }: Source, { place }: Receiver): Place {
  if (place.namespace !== undefined || namespace === undefined) return place;
  return { ...place, namespace };
}

function unknownTenants({ selector }: Source, receivers: readonly Receiver[]): string[] {
  if (!('names' in selector)) return [];
  return [...selector.names].filter((name) => !receivers.some((receiver) => receiver.name === name));
}

function hasRole({ source, place }: Copy, copies: ReadonlyMap<string, Copy>, refusals: Refusal[]): boolean {
  const key = roleKey(source.object, place);
  if (key === undefined) return true;
  const from = copies.get(key)?.source;
  // A Role of that name from another namespace is another role.
  if (from !== undefined && (from.namespace === undefined || from.namespace === source.namespace))
    return true;
  const role = roleOf(source.object)?.name ?? '';
  refusals.push({
    subject: source.title,
    reason: `its role ${role} is not published to ${placeName(place)}`,
  });
  return false;
}

function subjectOf({ kind, object: { metadata } }: SourceObject): string {
  return sourceName(kind, kind.namespaced ? metadata.namespace : undefined, metadata.name);
}
