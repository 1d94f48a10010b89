/**
 * Which copies there should be, from the sources and those who receive them. Pure. A binding is copied only
 * where its role is copied too, or is Stonegate's own.
 */
import { type PublishedKind, resourceName } from '../api/published-objects.ts';
import { forEachInTurns } from '../lib/in-turns.ts';
import { type Copy, copyOf } from './copy.ts';
import type { Place } from './ports.ts';
import { isOwnRole, roleOf } from './rbac-objects.ts';
import type { Receiver } from './receivers.ts';
import { readSource, type Source, type SourceObject, type SourceRules } from './source.ts';
import { selectsTenant } from './tenant-selector.ts';

/** A source that cannot be published, or a part of it. */
export interface PublishingRefusal {
  /** As `sourceName` calls it. */
  readonly source: string;
  readonly reason: string;
}

export interface DesiredCopies {
  readonly copies: readonly Copy[];
  readonly refusals: readonly PublishingRefusal[];
}

export interface PublishedFacts {
  /** Annotated objects, those of the namespace that comes first in the configuration first. */
  readonly sources: readonly SourceObject[];
  readonly receivers: readonly Receiver[];
}

/** Copies that are compared before other events are handled. */
export const PER_TURN = 500;

const NO_TENANT = {
  arktos: 'no tenant is called',
  shared: 'no namespace belongs to a Keystone domain with the id',
} as const;

export async function desiredCopies(
  { sources, receivers }: PublishedFacts,
  rules: SourceRules,
): Promise<DesiredCopies> {
  const refusals: PublishingRefusal[] = [];
  const valid: Source[] = [];
  for (const one of sources) {
    const source = readSource(one, rules);
    if ('refused' in source) refusals.push({ source: titleOf(one), reason: source.refused });
    else {
      valid.push(source);
      const unknown = unknownTenants(source, receivers);
      if (unknown.length > 0)
        refusals.push({ source: source.title, reason: `${NO_TENANT[rules.mode]} ${unknown.join(', ')}` });
    }
  }
  const copies = new Map<string, Copy>();
  const living = receivers.filter(({ isTerminating }) => !isTerminating);
  await forEachInTurns(living, Math.ceil(PER_TURN / Math.max(1, valid.length)), (receiver) => {
    for (const source of valid.filter(({ selector }) => selectsTenant(selector, receiver))) {
      const copy = copyOf(source, placeIn(source, receiver), receiver);
      const key = copyKey(source.kind, copy.place, source.object.metadata.name);
      const other = copies.get(key);
      if (other === undefined) copies.set(key, copy);
      else
        refusals.push({
          source: source.title,
          reason: `${other.source.title} comes first in ${placeName(copy.place)}`,
        });
    }
  });
  return { copies: [...copies.values()].filter((copy) => hasRole(copy, copies, refusals)), refusals };
}

/** Identifies an object. */
export function copyKey(kind: PublishedKind, { tenant, namespace }: Place, name: string): string {
  return [resourceName(kind), tenant ?? '', namespace ?? '', name].join('/');
}

export function keyOfCopy({ source, place }: Copy): string {
  return copyKey(source.kind, place, source.object.metadata.name);
}

/** For messages: `acme/shared`, `acme`, `web`. */
export function placeName({ tenant, namespace }: Place): string {
  return [tenant, namespace].filter((part) => part !== undefined).join('/');
}

function placeIn({ namespace }: Source, { place }: Receiver): Place {
  if (place.namespace !== undefined || namespace === undefined) return place;
  return { ...place, namespace };
}

function unknownTenants({ selector }: Source, receivers: readonly Receiver[]): string[] {
  if (!('names' in selector)) return [];
  return [...selector.names].filter((name) => !receivers.some((receiver) => receiver.name === name));
}

function hasRole(
  { source, place }: Copy,
  copies: ReadonlyMap<string, Copy>,
  refusals: PublishingRefusal[],
): boolean {
  const key = roleKey(source, place);
  if (key === undefined) return true;
  const from = copies.get(key)?.source;
  // A Role of that name from another namespace is another role.
  if (from !== undefined && (from.namespace === undefined || from.namespace === source.namespace))
    return true;
  const role = roleOf(source.object)?.name ?? '';
  refusals.push({
    source: source.title,
    reason: `its role ${role} is not published to ${placeName(place)}`,
  });
  return false;
}

/** @returns the key of the role's copy; undefined if the source is no binding, or the role is Stonegate's */
export function roleKey({ object, kind }: Source, place: Place): string | undefined {
  if (kind.group !== 'rbac.authorization.k8s.io') return undefined;
  const role = roleOf(object);
  if (role === undefined || isOwnRole(role)) return undefined;
  const isNamespaced = role.kind === 'Role';
  const resource = isNamespaced ? 'roles' : 'clusterroles';
  const { namespace: _none, ...tenant } = place;
  const roleKind = { group: kind.group, version: 'v1', resource, namespaced: isNamespaced };
  return copyKey(roleKind, isNamespaced ? place : tenant, role.name);
}

function titleOf({ kind, object }: SourceObject): string {
  const { name, namespace } = object.metadata;
  return [resourceName(kind), ...(kind.namespaced ? [namespace ?? ''] : []), name].join('/');
}
