/**
 * How long a dead worker's place stays empty: hardly at all after one death, longer with each that follows soon, so
 * that a crash loop does not take the machine.
 */

const FIRST = 100;
const LONGEST = 30_000;
/** A worker that lived this long starts anew with a clean record. */
const HEALTHY = 60_000;

export class RestartBackoff {
  #soonDeaths = 0;

  /**
   * @param livedFor milliseconds
   * @returns milliseconds to wait before the next start
   */
  died(livedFor: number): number {
    this.#soonDeaths = livedFor >= HEALTHY ? 0 : this.#soonDeaths + 1;
    return Math.min(LONGEST, FIRST * 2 ** Math.max(0, this.#soonDeaths - 1));
  }
}
