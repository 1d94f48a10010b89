/**
 * Reads the fields of Keystone's answers. What does not look like Keystone is not believed: each function throws an
 * Error that names the field, and quotes nothing that Keystone said, since that may hold a token.
 */
import type { DomainReference } from '../api/keystone-v3.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';

export function record(value: unknown, what: string): JSONObject {
  if (!isJSONObject(value)) throw new Error(`${what} is no object`);
  return value;
}

export function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${what} is no list`);
  return value;
}

export function text(value: unknown, what: string): string {
  if (typeof value !== 'string' || value === '') throw new Error(`${what} is no text`);
  return value;
}

export function flag(value: unknown, what: string): boolean {
  if (typeof value !== 'boolean') throw new Error(`${what} is no boolean`);
  return value;
}

/** Whatever has an id and a name. */
export function named(value: unknown, what: string): DomainReference {
  const fields = record(value, what);
  return { id: text(fields.id, `${what}.id`), name: text(fields.name, `${what}.name`) };
}

/** What belongs to a domain that is named beside it. */
export function namedInDomain(value: unknown, what: string): DomainReference & { domain: DomainReference } {
  return { ...named(value, what), domain: named(record(value, what).domain, `${what}.domain`) };
}
