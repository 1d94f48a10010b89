/**
 * Holds back deletions if they exceed a share of the objects that the plan guards: the cause is more often a
 * mistake (another Keystone, a wrong mapping) than intent. The operator confirms them with `--force`; other
 * changes are applied.
 */
import { type Place, placeName } from '../kubernetes-object.ts';
import type { Deletion, Plan } from './plan.ts';

/** What one namespace or tenant loses: `going` of `there` objects. */
export interface Loss {
  readonly place: Place;
  readonly going: number;
  readonly there: number;
}

/** @returns one for each namespace or tenant with deletions, the largest first */
export function lossesOf(deletions: readonly Deletion[], { guarded }: Plan): readonly Loss[] {
  const losses = [...Map.groupBy(deletions, ({ place }) => placeName(place))].flatMap(
    ([key, [first, ...others]]) =>
      first === undefined
        ? []
        : [{ place: first.place, going: 1 + others.length, there: guarded.get(key) ?? 0 }],
  );
  return losses.sort((one, other) => other.going - one.going);
}

/**
 * @param maxDeletedShare of the guarded objects, 0 to 1; undefined: all may be deleted
 * @returns the deletions that the operator must confirm
 */
export function heldBack(plan: Plan, maxDeletedShare: number | undefined): readonly Deletion[] {
  if (maxDeletedShare === undefined) return [];
  const deletions = plan.changes.filter((change) => change.action === 'delete');
  const losses = heldLosses(lossesOf(deletions, plan), sum([...plan.guarded.values()]), maxDeletedShare);
  const held = new Set(losses.map(({ place }) => placeName(place)));
  return deletions.filter(({ place }) => held.has(placeName(place)));
}

/**
 * If the total is too large, a namespace that loses no more than its own share is still applied: a user who
 * may write rolebindings in one namespace could create any number that look like Stonegate's, and must not
 * keep revoked rights in force elsewhere. If the remaining deletions are too many by themselves, all are held
 * back.
 *
 * @param existing number of all guarded objects
 */
export function heldLosses(
  losses: readonly Loss[],
  existing: number,
  maxDeletedShare: number,
): readonly Loss[] {
  const going = sum(losses.map((loss) => loss.going));
  if (!isTooMuch({ going, there: existing }, maxDeletedShare)) return [];
  const heavy = losses.filter((loss) => isTooMuch(loss, maxDeletedShare));
  const others = {
    going: going - sum(heavy.map((loss) => loss.going)),
    there: existing - sum(heavy.map(({ there }) => there)),
  };
  return others.going >= others.there || isTooMuch(others, maxDeletedShare) ? losses : heavy;
}

/** One object is never too many; all of several always are. */
function isTooMuch({ going, there }: Pick<Loss, 'going' | 'there'>, maxDeletedShare: number): boolean {
  return going > 1 && (going > there * maxDeletedShare || going >= there);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
