/**
 * The names about which a decision is due, since changes concern them that are not evaluated yet.
 */

/** Stands for all namespaces. */
export const ALL = '';

/** Of a decision. */
export interface Cause {
  readonly revision: number;
  readonly cause: 'object' | 'access';
}

/** More if the user sees more. Beyond it all decisions are made, which costs no more. */
const MAX_DUE = 16;

export class DueDecisions {
  /** By name: the last change. */
  readonly #names = new Map<string, Cause>();
  /** The lowest revision of a change. */
  #since = Number.POSITIVE_INFINITY;

  get isEmpty(): boolean {
    return this.#names.size === 0;
  }

  /** The highest revision below that of each change. */
  get before(): number {
    return this.#since - 1;
  }

  /** @param visible how many namespaces the user sees */
  add(name: string, { revision, cause }: Cause, visible: number): void {
    this.#since = Math.min(this.#since, revision);
    const isForAll = this.#names.has(ALL) || this.#names.size >= Math.max(MAX_DUE, visible);
    if (isForAll) this.#names.clear();
    const isByAccess = cause === 'access' || this.#names.get(name)?.cause === 'access';
    this.#names.set(isForAll ? ALL : name, { revision, cause: isByAccess ? 'access' : 'object' });
  }

  /** @returns undefined if no decision about the name is due */
  of(name: string): Cause | undefined {
    return this.#names.get(name) ?? this.#names.get(ALL);
  }

  /** Afterwards none is due. */
  take(): ReadonlyMap<string, Cause> {
    const names = new Map(this.#names);
    this.#names.clear();
    this.#since = Number.POSITIVE_INFINITY;
    return names;
  }
}
