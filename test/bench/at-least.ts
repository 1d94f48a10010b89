/**
 * Whether Stonegate is as fast as it is held to: a neighbour may disturb a measurement, what has become
 * slower stays so.
 */

const ATTEMPTS = 3;

export type Verdict = 'enough' | 'again' | 'too little';

/**
 * @param ratio what was measured, more is better; NaN where nothing was
 * @param attempt of the measurement, from 1
 */
export function verdictOf(ratio: number, atLeast: number, attempt: number): Verdict {
  if (ratio >= atLeast) return 'enough';
  return attempt < ATTEMPTS ? 'again' : 'too little';
}
