/**
 * Many bindings gone at once is more often a mistake than a wish: a Keystone that answers for another installation, a
 * mapping mistyped. Such deletions are held back until an operator says that they are meant; all else is done.
 */
import { objectKey, placeKey } from './difference.ts';
import type { Change, Plan } from './plan.ts';

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
export function existingBindings({ existingByPlace }: Pick<Plan, 'existingByPlace'>): number {
  return [...existingByPlace.values()].reduce((sum, ofPlace) => sum + ofPlace, 0);
}

/**
 * One binding is never many; all of several always are. Where they are too many, a namespace that loses no more than the
 * share of its own is not held up by the others: who may write rolebindings in one namespace can make any number that
 * look like Stonegate's and have to go, and must not keep in force what is taken from people elsewhere.
 *
 * @param maxDeletedShare of the bindings that are there, 0 to 1
 * @returns the deletions that need to be confirmed
 */
export function heldBack(plan: Plan, maxDeletedShare: number): readonly Change[] {
  const tooMany = (going: number, there: number) =>
    going > 1 && (going > there * maxDeletedShare || going >= there);
  const deletions = deletionsOf(plan);
  const existing = existingBindings(plan);
  if (!tooMany(deletions.length, existing)) return [];
  const places = [...Map.groupBy(deletions, ({ place }) => placeKey(place))].map(([key, ofPlace]) => ({
    ofPlace,
    there: plan.existingByPlace.get(key) ?? 0,
  }));
  const heavy = places.filter(({ ofPlace, there }) => tooMany(ofPlace.length, there));
  const held = new Set(heavy.flatMap(({ ofPlace }) => ofPlace));
  const others = deletions.length - held.size;
  const left = existing - heavy.reduce((sum, { there }) => sum + there, 0);
  const all = tooMany(others, left) || others >= left;
  return all ? deletions : deletions.filter((change) => held.has(change));
}
