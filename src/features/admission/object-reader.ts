/**
 * Reads fields of an untrusted object as Go decodes them: null is an absent field, names count in their exact
 * spelling, and an entry of a list that is null is an empty one. A field of a wrong type is collected as a
 * fault and read as absent: the API server refuses such an object, so every evaluation refuses it too.
 * https://pkg.go.dev/sigs.k8s.io/json
 */
import { isJSONObject, type JSONObject, ownValue } from '../../lib/json-object.ts';
import { keyPath, type Violation } from './violation.ts';

/** Reads an object whose faults are the API server's to refuse. */
export function readerOf(object: unknown): ObjectReader {
  return new ObjectReader(object, '', []);
}

export class ObjectReader {
  readonly path: string;
  readonly #object: JSONObject;
  readonly #faults: Violation[];

  /**
   * @param path empty for the outermost object
   * @param faults where fields of a wrong type are added
   */
  constructor(value: unknown, path: string, faults: Violation[]) {
    this.path = path;
    this.#faults = faults;
    this.#object = isJSONObject(value) ? value : {};
    if (value !== undefined && value !== null && !isJSONObject(value)) this.#fault(path, value, 'an object');
  }

  pathOf(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }

  /** @returns undefined if the field is absent or null */
  value(name: string): unknown {
    return ownValue(this.#object, name) ?? undefined;
  }

  has(name: string): boolean {
    return this.value(name) !== undefined;
  }

  /** An absent field is read as an empty object. */
  object(name: string): ObjectReader {
    return new ObjectReader(this.value(name), this.pathOf(name), this.#faults);
  }

  objects(name: string): ObjectReader[] {
    return this.#list(name).map(
      (one, at) => new ObjectReader(one, `${this.pathOf(name)}[${at}]`, this.#faults),
    );
  }

  boolean(name: string): boolean | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.#fault(this.pathOf(name), value, 'a boolean');
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'string') return value;
    return this.#fault(this.pathOf(name), value, 'a string');
  }

  integer(name: string): number | undefined {
    const value = this.value(name);
    if (value === undefined || (typeof value === 'number' && Number.isInteger(value))) return value;
    return this.#fault(this.pathOf(name), value, 'an integer');
  }

  texts(name: string): string[] {
    return this.#list(name).map((one, at) => this.#textAt(one, `${this.pathOf(name)}[${at}]`));
  }

  /** A map of strings; its keys are the client's. */
  textMap(name: string): ReadonlyMap<string, string> {
    const entries = Object.entries(this.object(name).fields);
    return new Map(
      entries.map(([key, value]) => [key, this.#textAt(value, keyPath(this.pathOf(name), key))]),
    );
  }

  /** All fields as they are. */
  get fields(): JSONObject {
    return this.#object;
  }

  #list(name: string): readonly unknown[] {
    const value = this.value(name) ?? [];
    if (Array.isArray(value)) return value;
    this.#fault(this.pathOf(name), value, 'a list');
    return [];
  }

  #textAt(value: unknown, path: string): string {
    if (typeof value === 'string') return value;
    if (value !== null && value !== undefined) this.#fault(path, value, 'a string');
    return '';
  }

  #fault(path: string, value: unknown, expected: string): undefined {
    const message = `${path || 'the object'} must be ${expected}`;
    this.#faults.push({ rule: 'malformed', path, value, message });
  }
}
