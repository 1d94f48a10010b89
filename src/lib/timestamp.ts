/**
 * Instants as Kubernetes writes them: `metav1.Time`, RFC 3339 in whole seconds.
 */

/** What RFC 3339 can say at most. */
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59);

/** Whether an instant is one at all: what has no end is written as the last one. */
export function isLastInstant(milliseconds: number): boolean {
  return milliseconds >= LAST_INSTANT;
}

/**
 * @param milliseconds since the epoch; what is finer than a second is cut off, so that nothing seems to live longer
 */
export function timestamp(milliseconds: number): string {
  return new Date(Math.min(milliseconds, LAST_INSTANT)).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
