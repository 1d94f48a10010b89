/**
 * Bounds the memory of buffers: in total, and for each key, so that no tenant takes the memory of the others.
 */

export interface ByteBudgetOptions {
  readonly total: number;
  readonly perKey: number;
}

/** Memory of one holder, which grows and shrinks. */
export interface Reservation {
  readonly bytes: number;
  /**
   * @param spare bytes of the key that stay free for others
   * @returns false if there is no room for more: then nothing has changed; never for less
   */
  resize(bytes: number, spare?: number): boolean;
  release(): void;
}

export class ByteBudget {
  readonly #options: ByteBudgetOptions;
  readonly #keys = new Map<string, number>();
  #nextRelease: AbortController | undefined;
  #reserved = 0;

  constructor(options: ByteBudgetOptions) {
    this.#options = options;
  }

  /** Nothing is reserved yet. */
  reservation(key: string): Reservation {
    let held = 0;
    const resize = (bytes: number, spare = 0): boolean => {
      if (!this.#add(key, bytes - held, spare)) return false;
      held = bytes;
      return true;
    };
    return {
      get bytes() {
        return held;
      },
      resize,
      release: () => void resize(0),
    };
  }

  /** The reserved bytes. */
  get reserved(): number {
    return this.#reserved;
  }

  /** Aborted when any holder next gives memory back. */
  get nextRelease(): AbortSignal {
    this.#nextRelease ??= new AbortController();
    return this.#nextRelease.signal;
  }

  #add(key: string, bytes: number, spare: number): boolean {
    const { total, perKey } = this.#options;
    const ofKey = (this.#keys.get(key) ?? 0) + bytes;
    if (bytes > 0 && (ofKey + spare > perKey || this.#reserved + bytes > total)) return false;
    this.#reserved += bytes;
    if (ofKey > 0) this.#keys.set(key, ofKey);
    else this.#keys.delete(key);
    if (bytes < 0) {
      this.#nextRelease?.abort();
      this.#nextRelease = undefined;
    }
    return true;
  }
}

export class TooLarge extends Error {}
