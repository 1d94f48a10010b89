/**
 * Reads JSON that another version of Stonegate, or a user, has written. Its schemas are strict: an unknown
 * member may restrict what the others mean, so a value with one is refused.
 */
import type { z } from 'zod';
import { readJSON } from './json-object.ts';

/** Characters of an unknown member's name in a message. */
const MAX_SHOWN = 63;

/** @returns undefined if the text is not JSON of the schema */
export function parseJSON<T>(text: string, schema: z.ZodType<T>): T | undefined {
  return schema.safeParse(readJSON(text)).data;
}

/** The form of values in a store, in which another version of Stonegate may have written them. */
export interface Codec<V> {
  /** Part of the entries' keys: entries of another form, or of another cache, are not found. */
  readonly name: string;
  encode(value: V): string;
  /** @returns undefined if it is not such a value */
  decode(text: string): V | undefined;
}

export function jsonCodec<V>(name: string, schema: z.ZodType<V>): Codec<V> {
  return {
    name,
    encode: (value) => JSON.stringify(value),
    decode: (text) => parseJSON(text, schema),
  };
}

/**
 * @param name of the value, with which the message begins
 * @returns the first problem; undefined if the value is of the schema
 */
export function firstProblem(schema: z.ZodType, value: unknown, name: string): string | undefined {
  const [issue] = schema.safeParse(value).error?.issues ?? [];
  if (issue === undefined) return undefined;
  const path = issue.path.reduce<string>(
    (parent, step) => (typeof step === 'number' ? `${parent}[${step}]` : `${parent}.${String(step)}`),
    name,
  );
  if (issue.code === 'too_small' && issue.origin === 'array') return `${path} is empty`;
  if (issue.code === 'too_big' && issue.origin === 'array')
    return `${path} has more than ${issue.maximum} items`;
  if (issue.code !== 'unrecognized_keys') return `${path}: ${issue.message}`;
  return `${path}: unknown field ${JSON.stringify((issue.keys[0] ?? '').slice(0, MAX_SHOWN))}`;
}
