/**
 * Holds back deletions if they exceed a share of the existing bindings: the cause is more often a mistake
 * (another Keystone, a wrong mapping) than intent. The operator confirms them with `stonegate sync --force`;
 * other changes are applied.
 */

import { objectKey, placeKey } from './difference.ts';
import type { Change, Plan } from './plan.ts';
import type { Place } from './ports.ts';

/** Deletions that remove rights; without objects that are recreated. */
export function deletionsOf({ changes }: Plan): readonly Change[] {
  const made = new Set(
    changes.filter(({ action }) => action === 'create').map(({ object, place }) => objectKey(object, place)),
  );
  return changes.filter(
    ({ action, object, place }) => action === 'delete' && !made.has(objectKey(object, place)),
  );
}

/** Number of existing managed bindings. */
export function existingBindings({ existingByPlace }: Plan): number {
  return sum([...existingByPlace.values()]);
}

/** What one namespace or tenant loses: `going` of `there` bindings. */
export interface Loss {
  readonly place: Place;
  readonly going: number;
  readonly there: number;
}

/** @returns one for each namespace or tenant with deletions, the largest first */
export function lossesOf(deletions: readonly Change[], { existingByPlace }: Plan): readonly Loss[] {
  const losses = [...Map.groupBy(deletions, ({ place }) => placeKey(place))].flatMap(
    ([key, [first, ...others]]) =>
      first === undefined
        ? []
        : [{ place: first.place, going: 1 + others.length, there: existingByPlace.get(key) ?? 0 }],
  );
  return losses.sort((one, other) => other.going - one.going);
}

/**
 * @param maxDeletedShare of the existing bindings, 0 to 1
 * @returns the deletions that the operator must confirm
 */
export function heldBack(plan: Plan, maxDeletedShare: number): readonly Change[] {
  const deletions = deletionsOf(plan);
  const losses = heldLosses(lossesOf(deletions, plan), existingBindings(plan), maxDeletedShare);
  const held = new Set(losses.map(({ place }) => placeKey(place)));
  return deletions.filter(({ place }) => held.has(placeKey(place)));
}

/**
 * If the total is too large, a namespace that loses no more than its own share is still applied: a user who
 * may write rolebindings in one namespace could create any number that look like Stonegate's, and must not
 * keep revoked rights in force elsewhere. If the remaining deletions are too many by themselves, all are
 * held back.
 *
 * @param existing number of all bindings
 */
export function heldLosses(
  losses: readonly Loss[],
  existing: number,
  maxDeletedShare: number,
): readonly Loss[] {
  const going = sum(losses.map((loss) => loss.going));
  if (!isTooMuch({ going, there: existing }, maxDeletedShare)) return [];
  const heavy = heavyLosses(losses, maxDeletedShare);
  const others = {
    going: going - sum(heavy.map((loss) => loss.going)),
    there: existing - sum(heavy.map(({ there }) => there)),
  };
  return others.going >= others.there || isTooMuch(others, maxDeletedShare) ? losses : heavy;
}

/** Losses that exceed the share of their own namespace or tenant. */
export function heavyLosses(losses: readonly Loss[], maxDeletedShare: number): readonly Loss[] {
  return losses.filter((loss) => isTooMuch(loss, maxDeletedShare));
}

/** One binding is never too many; all of several always are. */
function isTooMuch({ going, there }: Pick<Loss, 'going' | 'there'>, maxDeletedShare: number): boolean {
  return going > 1 && (going > there * maxDeletedShare || going >= there);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
