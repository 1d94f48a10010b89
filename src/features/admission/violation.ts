/**
 * What admission refuses in an object, and at which field.
 */

export interface Violation {
  /** The rule, by a name that stays the same. */
  readonly rule: string;
  /** As apimachinery writes it: `spec.containers[0].name`, `metadata.annotations[key]`. */
  readonly path: string;
  /** The field's value, for comparison with another version of the object; undefined if it is absent. */
  readonly value: unknown;
  /** One line for the client. */
  readonly message: string;
}

/** @param key of a map */
export function keyPath(path: string, key: string): string {
  return `${path}[${key}]`;
}
