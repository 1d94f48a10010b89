/**
 * Durations and instants as Kubernetes writes them: Go's `time.ParseDuration`, without sign and without units
 * below a millisecond (https://pkg.go.dev/time#ParseDuration); `metav1.Time`, RFC 3339 in whole seconds; and
 * the ages in tables (https://pkg.go.dev/k8s.io/apimachinery/pkg/util/duration#HumanDuration).
 */

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h)/g;

/**
 * @param text such as `60s`, `1m30s`, `250ms`; a bare `0` is allowed
 * @returns milliseconds, or undefined if the text is no duration
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!WHOLE.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(PART)) {
    total += Number(amount) * (UNITS[unit ?? ''] ?? Number.NaN);
  }
  return total <= Number.MAX_SAFE_INTEGER ? Math.round(total) : undefined;
}

/** What RFC 3339 can say at most. */
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59);

/** Whether an instant is one at all: what has no end is written as the last one. */
export function isLastInstant(milliseconds: number): boolean {
  return milliseconds >= LAST_INSTANT;
}

/**
 * @param milliseconds since the epoch; what is finer than a second is cut off, so that nothing seems to live
 *   longer
 */
export function timestamp(milliseconds: number): string {
  return new Date(Math.min(milliseconds, LAST_INSTANT)).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

const INSTANT = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * @param text RFC 3339, such as `2027-03-31T00:00:00Z`
 * @returns milliseconds since the epoch; undefined if the text is no instant
 */
export function parseTimestamp(text: string): number | undefined {
  const [matched, year, month, day] = INSTANT.exec(text) ?? [];
  if (matched === undefined) return undefined;
  // `Date.parse` takes the 30th of February for a day of March.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  const milliseconds = Date.parse(text);
  return date.getUTCDate() === Number(day) && !Number.isNaN(milliseconds) ? milliseconds : undefined;
}

/** @param milliseconds may be a little below zero if clocks differ */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1_000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return `${minutes}m${rest(seconds % 60, 's')}`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return `${hours}h${rest(minutes % 60, 'm')}`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 24 * 8) return `${days}d${rest(hours % 24, 'h')}`;
  const years = Math.floor(days / 365);
  if (years < 2) return `${days}d`;
  if (years < 8) return `${years}y${rest(days % 365, 'd')}`;
  return `${years}y`;
}

function rest(count: number, unit: string): string {
  return count === 0 ? '' : `${count}${unit}`;
}

/** @param timestamp RFC 3339; empty if the object has none */
export function ageAt(now: number, timestamp: string): string {
  const since = Date.parse(timestamp);
  return Number.isNaN(since) ? '<unknown>' : humanDuration(now - since);
}
