/**
 * Names that a user saw and no longer sees: only they may be told as deleted. Beyond a bound they are
 * forgotten, and watches from before begin anew.
 */

/** Of one user. */
const MAX_REMOVED = 1_000;

export class RemovedNames {
  readonly #names = new Set<string>();
  /** The highest revision known when there were none. */
  #since: number;

  /** @param known the highest revision known now */
  constructor(known: number) {
    this.#since = known;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Whether everything is known that changes above the revision took from the user. */
  reachBack(revision: number): boolean {
    return revision > this.#since;
  }

  /** @param known the highest revision known now */
  add(name: string, known: number): void {
    if (this.#names.size >= MAX_REMOVED) {
      this.#names.clear();
      this.#since = known;
    }
    this.#names.add(name);
  }

  delete(name: string): void {
    this.#names.delete(name);
  }
}
