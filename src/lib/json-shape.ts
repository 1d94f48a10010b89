/**
 * Checks the shape of JSON that another version of Stonegate may have written. A member that is not listed is
 * refused: it may restrict what the others mean. The types make a check list every member of its type.
 */
import { isJSONObject, ownValue } from './json-object.ts';

export interface Shape<T> {
  (value: unknown): value is T;
  /** What is wrong with a value that is not of the shape, in which member; nothing to say without it. */
  readonly fault?: (value: unknown, path: string) => string;
}

/** Characters of a name that is not known. */
const MAX_SHOWN = 63;

type Members<T> = { readonly [K in keyof T]-?: Shape<T[K]> };

/**
 * @param path of the value, such as `spec`; the result begins with it
 * @returns undefined if the value is of the shape
 */
export function faultOf(shape: Shape<unknown>, value: unknown, path: string): string | undefined {
  if (shape(value)) return undefined;
  if (value === undefined) return `${path} is missing`;
  return shape.fault?.(value, path) ?? `${path} is wrong`;
}

export const isText: Shape<string> = Object.assign(
  (value: unknown): value is string => typeof value === 'string',
  { fault: (_: unknown, path: string) => `${path} is no text` },
);

export const isBoolean: Shape<boolean> = (value) => typeof value === 'boolean';

export const isFiniteNumber = (value: unknown): value is number => Number.isFinite(value);

export function isExactly<T extends string>(...texts: readonly T[]): Shape<T> {
  return Object.assign((value: unknown): value is T => texts.some((text) => text === value), {
    fault: (_: unknown, path: string) => `${path} is none of ${texts.join(', ')}`,
  });
}

export function isOneOf<T>(...shapes: readonly Shape<T>[]): Shape<T> {
  return (value): value is T => shapes.some((shape) => shape(value));
}

/** For a member that may be absent. */
export function isOptional<T>(shape: Shape<T>): Shape<T | undefined> {
  const isOne = (value: unknown): value is T | undefined => value === undefined || shape(value);
  return shape.fault === undefined ? isOne : Object.assign(isOne, { fault: shape.fault });
}

export function isListOf<T>(shape: Shape<T>): Shape<readonly T[]> {
  const isOne = (value: unknown): value is readonly T[] =>
    Array.isArray(value) && value.every((member) => shape(member));
  return Object.assign(isOne, {
    fault(value: unknown, path: string): string {
      if (!Array.isArray(value)) return `${path} is no list`;
      const at = value.findIndex((member) => !shape(member));
      return faultOf(shape, value[at], `${path}[${at}]`) ?? path;
    },
  });
}

/** An object whose member names are not known. */
export function isRecordOf<T>(shape: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return (value): value is Readonly<Record<string, T>> =>
    isJSONObject(value) && Object.values(value).every((member) => shape(member));
}

/** An object with these members and no others. */
export function isObjectOf<T extends object>(members: Members<T>): Shape<T> {
  const shapes = new Map<string, Shape<unknown>>(Object.entries(members));
  const isOne = (value: unknown): value is T => {
    if (!isJSONObject(value)) return false;
    if (Object.keys(value).some((name) => !shapes.has(name))) return false;
    return [...shapes].every(([name, shape]) => shape(ownValue(value, name)));
  };
  return Object.assign(isOne, {
    fault(value: unknown, path: string): string {
      if (!isJSONObject(value)) return `${path} is no object`;
      const unknown = Object.keys(value).find((name) => !shapes.has(name));
      if (unknown !== undefined)
        return `${path} has a field that is not known: ${JSON.stringify(unknown.slice(0, MAX_SHOWN))}`;
      const faults = [...shapes].map(([name, shape]) =>
        faultOf(shape, ownValue(value, name), `${path}.${name}`),
      );
      return faults.find((fault) => fault !== undefined) ?? path;
    },
  });
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
