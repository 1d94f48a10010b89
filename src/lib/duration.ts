/**
 * Durations as Kubernetes writes them: Go's `time.ParseDuration`, without sign and without units below a
 * millisecond, since nothing here is configured that finely. https://pkg.go.dev/time#ParseDuration
 */

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h)/g;

/**
 * @param text such as `60s`, `1m30s`, `250ms`; a bare `0` is allowed
 * @returns milliseconds, or undefined where the text is no duration
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
