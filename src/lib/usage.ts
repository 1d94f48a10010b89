/**
 * How many are using something that is to be ended once nobody does. They are counted and not listed: a Set of those who come and
 * go (`ring.ts`) cost an eighth of a 2 kB GET's CPU.
 */

/** The time for which somebody uses it. */
export class Stay {
  #onLeave: (() => void) | undefined;

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  /** Only the first time does it count. */
  leave(): void {
    const onLeave = this.#onLeave;
    this.#onLeave = undefined;
    onLeave?.();
  }
}

export class Usage {
  #users = 0;
  /** Whoever waits for the last to leave. */
  #emptied: PromiseWithResolvers<void> | undefined;

  enter(): Stay {
    this.#users += 1;
    return new Stay(this.#leave);
  }

  readonly #leave = (): void => {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#emptied?.resolve();
    this.#emptied = undefined;
  };

  /** Resolves as soon as there is no user. */
  async ended(): Promise<void> {
    if (this.#users === 0) return;
    this.#emptied ??= Promise.withResolvers();
    await this.#emptied.promise;
  }
}
