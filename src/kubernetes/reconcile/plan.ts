/**
 * Computes the changes that bring desired objects about. Pure, and the same for the same input. Which objects
 * are desired, which may be deleted, and what may become of an object that is there is decided by each
 * controller.
 */

import { forEachInTurns } from '../../lib/concurrency.ts';
import {
  isBindingKind,
  objectKey,
  type Place,
  placeName,
  type ResourceKind,
  type StoredObject,
  type WrittenObject,
} from '../kubernetes-object.ts';

export interface Desired {
  readonly kind: ResourceKind;
  readonly place: Place;
  readonly object: WrittenObject;
  /** Tells the operator why: `role member on project web (3f…)`. */
  readonly reason: string;
  /** Called again with the present object if another client has changed it since the plan. */
  compare(existing: StoredObject | undefined): Comparison;
  /** The Tenant or Namespace that it is written into, if that must be the one that was planned for. */
  readonly target?: Target;
  /** Keys of desired objects without which this one is not written: the role of a binding. */
  readonly requires?: readonly string[];
}

export type Comparison =
  | { readonly action: 'none' }
  | { readonly action: 'create'; readonly object: WrittenObject }
  | {
      readonly action: 'update';
      /** The desired object with the metadata of the existing one. */
      readonly object: WrittenObject;
      /** Deleted first, since it differs in a field that cannot be updated. */
      readonly replaces?: WrittenObject;
    }
  | { readonly refused: string };

/** Read before each write into it. */
export interface Target {
  readonly kind: ResourceKind;
  readonly place: Place;
  readonly name: string;
  /** @returns why nothing may be written into it */
  problem(found: StoredObject | undefined): string | undefined;
}

export interface Existing {
  readonly kind: ResourceKind;
  readonly place: Place;
  /** Its identity is enough if `comparison` is there: the objects of all tenants may take much memory. */
  readonly object: StoredObject;
  /** The comparison with the desired object of that name. */
  readonly comparison?: Comparison | undefined;
  /** Absent if it stays even if it is not desired. */
  readonly deletion?: DeletionRule | undefined;
}

export interface DeletionRule {
  readonly reason: string;
  /** Whether the object may still be deleted, if another client has changed it since the plan. */
  isOwned(current: StoredObject): boolean;
}

/** One object and what is done to it. */
export interface ChangedObject {
  readonly action: 'create' | 'update' | 'delete';
  readonly kind: ResourceKind;
  readonly place: Place;
  /** The object as it is to be written; for a deletion as it was read. */
  readonly object: WrittenObject;
  /** Tells the operator why. */
  readonly reason: string;
}

export interface Write extends ChangedObject {
  readonly action: 'create' | 'update';
  readonly replaces?: WrittenObject;
  readonly desired: Desired;
}

export interface Deletion extends ChangedObject {
  readonly action: 'delete';
  readonly isOwned: DeletionRule['isOwned'];
}

export type Change = Write | Deletion;

/** Something that cannot be brought about, or could not be read: it is reported, never worked around. */
export interface Refusal {
  /** `project web (3f…)`, `RoleBinding x in acme/web`. */
  readonly subject: string;
  readonly reason: string;
}

export interface Plan {
  /** The changes in the order of execution. */
  readonly changes: readonly Change[];
  readonly refusals: readonly Refusal[];
  /** Sources that could not be read: what depends on them stays as it is. */
  readonly unread: readonly Refusal[];
  /** How many objects are as desired. */
  readonly unchanged: number;
  /** How many objects the guard against mass deletion counts in each place, by `placeName`. */
  readonly guarded: ReadonlyMap<string, number>;
}

export interface PlanInput {
  readonly desired: readonly Desired[];
  readonly existing: readonly Existing[];
  readonly refusals?: readonly Refusal[];
  readonly unread?: readonly Refusal[];
  /** The places of the objects of which only a share may be deleted at once; one for each object. */
  readonly guarded?: readonly Place[];
}

/** Objects that are compared before other events are handled. */
export const PER_TURN = 500;

export async function makePlan(input: PlanInput): Promise<Plan> {
  const { desired, existing, unread = [], guarded = [] } = input;
  const found = new Map(
    existing.map((one) => [objectKey(one.kind, one.place, one.object.metadata.name), one]),
  );
  const refusals = [...(input.refusals ?? [])];
  const changes: Change[] = [];
  const wanted = new Set<string>();
  /** Key → title. */
  const refused = new Map<string, string>();
  let unchanged = 0;
  // Bindings require roles.
  const inOrder = [false, true].flatMap((isLast) =>
    desired.filter(({ kind }) => isBindingKind(kind) === isLast),
  );
  await forEachInTurns(inOrder, PER_TURN, (item) => {
    const { kind, place, object, reason, requires = [] } = item;
    const key = objectKey(kind, place, object.metadata.name);
    wanted.add(key);
    const missing = requires.map((one) => refused.get(one)).find((title) => title !== undefined);
    const comparison =
      missing === undefined
        ? (found.get(key)?.comparison ?? item.compare(found.get(key)?.object))
        : { refused: `it needs ${missing}, which is refused` };
    if ('refused' in comparison) {
      refused.set(key, titleOf(item));
      refusals.push({ subject: titleOf(item), reason: comparison.refused });
    } else if (comparison.action === 'none') unchanged += 1;
    else changes.push({ ...comparison, kind, place, reason, desired: item });
  });
  for (const [key, { kind, place, object, deletion }] of found)
    if (deletion !== undefined && !wanted.has(key))
      changes.push({ action: 'delete', kind, place, object, ...deletion });
  return {
    changes: changes.toSorted((one, other) => phaseOf(one) - phaseOf(other)),
    refusals: distinct(refusals),
    unread,
    unchanged,
    guarded: new Map([...Map.groupBy(guarded, placeName)].map(([key, { length }]) => [key, length])),
  };
}

/**
 * Changes of one phase may be applied concurrently. Bindings are deleted first, so that no role gets more
 * rules while a binding gives it to someone who is to lose it.
 */
export function phaseOf({ action, kind }: Change): number {
  if (action === 'delete') return isBindingKind(kind) ? 0 : 5;
  if (isBindingKind(kind)) return 4;
  if (kind.group !== '') return 3;
  return kind.resource === 'tenants' ? 1 : kind.resource === 'namespaces' ? 2 : 3;
}

/** The name of an object in messages: `RoleBinding x in acme/web`. */
export function titleOf({ object, place }: Pick<ChangedObject, 'object' | 'place'>): string {
  const where = placeName(place);
  return `${object.kind} ${object.metadata.name}${where === '' ? '' : ` in ${where}`}`;
}

function distinct(refusals: readonly Refusal[]): Refusal[] {
  return [...new Map(refusals.map((one) => [`${one.subject} ${one.reason}`, one])).values()];
}
