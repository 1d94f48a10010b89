/**
 * How large a value is, as CEL counts: text in code points.
 */
import { Dictionary, List, type Value } from './values.ts';

/** @returns undefined for what has no size */
export function sizeOf(value: Value): number | undefined {
  if (typeof value === 'string') return lengthOf(value);
  if (value instanceof List) return value.items.length;
  if (value instanceof Dictionary) return value.size;
  return value instanceof Uint8Array ? value.length : undefined;
}

/** In code points. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}
