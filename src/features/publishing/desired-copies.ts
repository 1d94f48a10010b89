/**
 * Which copies there should be, from the sources and those who receive them. Pure. A binding is copied only
 * where its role is copied too, or is Stonegate's own.
 */

import { objectKey, type Place, placeName } from '../../kubernetes/kubernetes-object.ts';
import { resourceName } from '../../kubernetes/published-objects.ts';
import { PER_TURN, type Refusal } from '../../kubernetes/reconcile/plan.ts';
import { forEachInTurns } from '../../lib/in-turns.ts';
import { Copy } from './copy.ts';
import { roleKey, roleOf } from './rbac-objects.ts';
import type { Receiver } from './receivers.ts';
import { readSource, type Source, type SourceObject, type SourceRules } from './source.ts';
import { selectsTenant } from './tenant-selector.ts';

export interface DesiredCopies {
  readonly copies: readonly Copy[];
  readonly refusals: readonly Refusal[];
}

export interface PublishedFacts {
  /** Annotated objects, those of the namespace that comes first in the configuration first. */
  readonly sources: readonly SourceObject[];
  readonly receivers: readonly Receiver[];
}

const NO_TENANT = {
  arktos: 'no tenant is called',
  shared: 'no namespace belongs to a Keystone domain with the id',
} as const;

export async function desiredCopies(
  { sources, receivers }: PublishedFacts,
  rules: SourceRules,
): Promise<DesiredCopies> {
  const refusals: Refusal[] = [];
  const valid: Source[] = [];
  for (const one of sources) {
    const source = readSource(one, rules);
    if ('refused' in source) refusals.push({ subject: titleOf(one), reason: source.refused });
    else {
      valid.push(source);
      const unknown = unknownTenants(source, receivers);
      if (unknown.length > 0)
        refusals.push({ subject: source.title, reason: `${NO_TENANT[rules.mode]} ${unknown.join(', ')}` });
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

function titleOf({ kind, object }: SourceObject): string {
  const { name, namespace } = object.metadata;
  return [resourceName(kind), ...(kind.namespaced ? [namespace ?? ''] : []), name].join('/');
}
