/**
 * What admission refuses in an object, and at which field. An update is judged by what it changes: an object
 * from before a rule could otherwise not even be repaired.
 */
import { isEqual } from '../../lib/json-equal.ts';

export interface Violation {
  /** The rule, by a name that stays the same. */
  readonly rule: string;
  /** The path as apimachinery writes it: `spec.containers[0].name`, `metadata.annotations[key]`. */
  readonly path: string;
  /** The field's value, for comparison with another version of the object; undefined if it is absent. */
  readonly value: unknown;
  /** One line for the client. */
  readonly message: string;
}

/** @param why continues the path of the field */
export function violation(rule: string, path: string, value: unknown, why: string): Violation {
  return { rule, path, value, message: path === '' ? why : `${path}: ${why}` };
}

/** @param key of a map */
export function keyPath(path: string, key: string): string {
  return `${path}[${key}]`;
}

/**
 * @param evaluate finds all violations of an object
 * @param oldObject as it is stored; undefined or null for a new object
 * @returns the violations that the old object does not have at the same field with the same value
 */
export function newViolations(
  evaluate: (object: unknown) => readonly Violation[],
  object: unknown,
  oldObject: unknown,
): readonly Violation[] {
  const found = evaluate(object);
  if (found.length === 0 || oldObject === undefined || oldObject === null) return found;
  const before = Map.groupBy(evaluate(oldObject), placeOf);
  return found.filter((one) => {
    const same = before.get(placeOf(one)) ?? [];
    return !same.some(({ value }) => isEqual(value, one.value));
  });
}

/** The name of a rule has no blank. */
function placeOf({ rule, path }: Violation): string {
  return `${rule} ${path}`;
}
