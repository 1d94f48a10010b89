/**
 * Checks the shape of JSON that another version of Stonegate may have written. A member that is not listed is
 * refused: it may restrict what the others mean. The types make a check list every member of its type.
 */
import { isJSONObject, ownValue } from './json-object.ts';

export type Shape<T> = (value: unknown) => value is T;

type Members<T> = { readonly [K in keyof T]-?: Shape<T[K]> };

export const isText: Shape<string> = (value) => typeof value === 'string';

export const isBoolean: Shape<boolean> = (value) => typeof value === 'boolean';

export const isFiniteNumber = (value: unknown): value is number => Number.isFinite(value);

export function isExactly<T extends string>(...texts: readonly T[]): Shape<T> {
  return (value): value is T => texts.some((text) => text === value);
}

export function isOneOf<T>(...shapes: readonly Shape<T>[]): Shape<T> {
  return (value): value is T => shapes.some((shape) => shape(value));
}

/** For a member that may be absent. */
export function isOptional<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value): value is T | undefined => value === undefined || shape(value);
}

export function isListOf<T>(shape: Shape<T>): Shape<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every((member) => shape(member));
}

/** An object whose member names are not known. */
export function isRecordOf<T>(shape: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return (value): value is Readonly<Record<string, T>> =>
    isJSONObject(value) && Object.values(value).every((member) => shape(member));
}

/** An object with these members and no others. */
export function isObjectOf<T extends object>(members: Members<T>): Shape<T> {
  const shapes = new Map<string, Shape<unknown>>(Object.entries(members));
  return (value): value is T => {
    if (!isJSONObject(value)) return false;
    if (Object.keys(value).some((name) => !shapes.has(name))) return false;
    return [...shapes].every(([name, shape]) => shape(ownValue(value, name)));
  };
}

/** @returns undefined if the text is not JSON of this shape */
export function parseShape<T>(text: string, shape: Shape<T>): T | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return shape(value) ? value : undefined;
}
