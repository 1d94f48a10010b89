/**
 * How many are using something that is to be ended once nobody does. They are counted and not listed: a Set's old tables keep
 * each other alive (`ring.ts`), and with thousands of users a second that is memory the collector moves again and again.
 */

/** One user's, until they leave. */
export class Use {
  #onLeave: (() => void) | undefined;

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  /** Of whom has left already it does nothing. */
  leave(): void {
    const onLeave = this.#onLeave;
    this.#onLeave = undefined;
    onLeave?.();
  }
}

export class Usage {
  #uses = 0;
  /** Whoever waits for the last to leave. */
  #emptied: PromiseWithResolvers<void> | undefined;

  enter(): Use {
    this.#uses += 1;
    return new Use(this.#leave);
  }

  readonly #leave = (): void => {
    this.#uses -= 1;
    if (this.#uses > 0) return;
    this.#emptied?.resolve();
    this.#emptied = undefined;
  };

  /** Resolves as soon as there is no user. */
  async ended(): Promise<void> {
    if (this.#uses === 0) return;
    this.#emptied ??= Promise.withResolvers();
    await this.#emptied.promise;
  }
}
