/**
 * Many bindings gone at once is more often a mistake than a wish: a Keystone that answers for another installation, a
 * mapping mistyped. Such deletions are held back until an operator says that they are meant; all else is done.
 */
import { objectKey } from './difference.ts';
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

/**
 * One binding is never many; all of several always are.
 *
 * @param maxDeletedShare of the bindings that are there, 0 to 1
 * @returns the deletions that need to be confirmed: all of them, or none
 */
export function heldBack(plan: Plan, maxDeletedShare: number): readonly Change[] {
  const deletions = deletionsOf(plan);
  const { length } = deletions;
  if (length <= 1) return [];
  const many = length > plan.existingBindings * maxDeletedShare || length >= plan.existingBindings;
  return many ? deletions : [];
}
