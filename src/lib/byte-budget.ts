/**
 * Bounds the memory of buffers: in total, and for each key, so that no tenant takes the memory of the others.
 */

export interface ByteBudgetOptions {
  readonly total: number;
  readonly perKey: number;
}

/** Memory of one holder, which grows and shrinks. */
export interface Reservation {
  /** @returns false if there is no room for more: then nothing has changed; never for less */
  resize(bytes: number): boolean;
}

export class ByteBudget {
  readonly #options: ByteBudgetOptions;
  readonly #keys = new Map<string, number>();
  #reserved = 0;

  constructor(options: ByteBudgetOptions) {
    this.#options = options;
  }

  /** @returns whether there was room; then the caller releases the bytes */
  tryReserve(key: string, bytes: number): boolean {
    const { total, perKey } = this.#options;
    const ofKey = (this.#keys.get(key) ?? 0) + bytes;
    if (ofKey > perKey || this.#reserved + bytes > total) return false;
    this.#set(key, ofKey);
    this.#reserved += bytes;
    return true;
  }

  /** @returns releases the bytes, idempotent; undefined if there is no room */
  reserve(key: string, bytes: number): (() => void) | undefined {
    if (!this.tryReserve(key, bytes)) return undefined;
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.release(key, bytes);
    };
  }

  /** Nothing is reserved yet. */
  reservation(key: string): Reservation {
    let held = 0;
    return {
      resize: (bytes) => {
        if (bytes > held && !this.tryReserve(key, bytes - held)) return false;
        if (bytes < held) this.release(key, held - bytes);
        held = bytes;
        return true;
      },
    };
  }

  release(key: string, bytes: number): void {
    this.#set(key, (this.#keys.get(key) ?? 0) - bytes);
    this.#reserved -= bytes;
  }

  /** In bytes. */
  get reserved(): number {
    return this.#reserved;
  }

  #set(key: string, bytes: number): void {
    if (bytes > 0) this.#keys.set(key, bytes);
    else this.#keys.delete(key);
  }
}

export class TooLarge extends Error {}
