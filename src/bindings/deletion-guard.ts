/**
 * Many bindings gone at once is more often a mistake than a wish: a Keystone that answers for another installation, a
 * mapping mistyped. Such deletions are held back until an operator says that they are meant; all else is done.
 */

import { objectKey, placeKey } from './difference.ts';
import type { Change, Plan } from './plan.ts';
import type { Place } from './ports.ts';

/** What takes something away from somebody; not what is made anew at once. */
export function deletionsOf({ changes }: Plan): readonly Change[] {
  const made = new Set(
    changes.filter(({ action }) => action === 'create').map(({ object, place }) => objectKey(object, place)),
  );
  return changes.filter(
    ({ action, object, place }) => action === 'delete' && !made.has(objectKey(object, place)),
  );
}

/** The bindings of ours that are there. */
export function existingBindings({ existingByPlace }: Plan): number {
  return sum([...existingByPlace.values()]);
}

/** What one namespace or tenant loses, of how many bindings. */
export interface Loss {
  readonly place: Place;
  readonly going: number;
  readonly there: number;
}

/** @returns for each namespace or tenant that these deletions concern, the largest loss first */
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
 * @param maxDeletedShare of the bindings that are there, 0 to 1
 * @returns the deletions that need to be confirmed
 */
export function heldBack(plan: Plan, maxDeletedShare: number): readonly Change[] {
  const deletions = deletionsOf(plan);
  const losses = heldLosses(lossesOf(deletions, plan), existingBindings(plan), maxDeletedShare);
  const held = new Set(losses.map(({ place }) => placeKey(place)));
  return deletions.filter(({ place }) => held.has(placeKey(place)));
}

/**
 * Where they are too many in all, a namespace that loses no more than the share of its own is not held up by the others:
 * who may write rolebindings in one namespace can make any number that look like Stonegate's and have to go, and must not
 * keep in force what is taken from people elsewhere. Unless the others are too many by themselves.
 *
 * @param existing bindings, in all
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

/** Those of places that lose too much of their own. */
export function heavyLosses(losses: readonly Loss[], maxDeletedShare: number): readonly Loss[] {
  return losses.filter((loss) => isTooMuch(loss, maxDeletedShare));
}

/** One binding is never too much; all of several always are. */
function isTooMuch({ going, there }: Pick<Loss, 'going' | 'there'>, maxDeletedShare: number): boolean {
  return going > 1 && (going > there * maxDeletedShare || going >= there);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
