/** What is said of several measurements. */

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/**
 * @param q between 0 and 1; the nearest rank, and the mean of the two in the middle for an even count's
 * median
 */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  if (q === 0.5 && sorted.length % 2 === 0) {
    const half = sorted.length / 2;
    return ((sorted[half - 1] ?? Number.NaN) + (sorted[half] ?? Number.NaN)) / 2;
  }
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

export function spreadOf(values: readonly number[]): Spread {
  return { min: Math.min(...values), median: median(values), max: Math.max(...values) };
}
