/**
 * An update is judged by what it changes: a violation that the old object had at the same field, with the
 * same value, is no reason to refuse the new one. Otherwise an object from before a rule could not even be
 * repaired. A violation that moves to another field or container counts as new.
 */
import { isEqual } from '../../lib/json-equal.ts';
import type { Violation } from './violation.ts';

/**
 * @param evaluate finds all violations of an object
 * @param oldObject as it is stored; undefined or null for a new object
 * @returns the violations that the old object does not have
 */
export function newViolations<V extends Violation>(
  evaluate: (object: unknown) => readonly V[],
  object: unknown,
  oldObject: unknown,
): readonly V[] {
  const found = evaluate(object);
  if (found.length === 0 || oldObject === undefined || oldObject === null) return found;
  const before = Map.groupBy(evaluate(oldObject), placeOf);
  return found.filter((violation) => {
    const same = before.get(placeOf(violation)) ?? [];
    return !same.some(({ value }) => isEqual(value, violation.value));
  });
}

/** A rule's name has no blank. */
function placeOf({ rule, path }: Violation): string {
  return `${rule} ${path}`;
}
