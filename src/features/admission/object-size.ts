/**
 * Bounds what an evaluation reads: a text of two megabytes can hold a million empty containers.
 */
import { isJSONObject, ownValue } from '../../lib/json-object.ts';

/** The API server takes no more, keys and values together. */
const MAX_ANNOTATION_BYTES = 256 * 1024;

/** Whether a value of JSON holds at most `max` values, itself included. It does not recurse. */
export function isWithinNodes(value: unknown, max: number): boolean {
  const pending: unknown[] = [value];
  let nodes = 0;
  for (; pending.length > 0; nodes += 1) {
    if (nodes + pending.length > max) return false;
    const one = pending.pop();
    if (typeof one !== 'object' || one === null) continue;
    for (const member of Object.values(one)) pending.push(member);
  }
  return true;
}

/** @param metadata untrusted */
export function hasStorableAnnotations(metadata: unknown): boolean {
  const annotations = isJSONObject(metadata) ? ownValue(metadata, 'annotations') : undefined;
  if (!isJSONObject(annotations)) return true;
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(key) + (typeof value === 'string' ? Buffer.byteLength(value) : 0);
    if (bytes > MAX_ANNOTATION_BYTES) return false;
  }
  return true;
}
