/**
 * Counts the requests in flight on a component that is disposed after the last of them. A counter instead of
 * a Set: adding to and deleting from a Set cost an eighth of a 2 kB GET's CPU.
 */

/** One request in flight. */
export class InFlight {
  #onRelease: (() => void) | undefined;

  constructor(onRelease: () => void) {
    this.#onRelease = onRelease;
  }

  /** Idempotent. */
  release(): void {
    const onRelease = this.#onRelease;
    this.#onRelease = undefined;
    onRelease?.();
  }
}

export class InFlightCounter {
  #count = 0;
  #drained: PromiseWithResolvers<void> | undefined;

  enter(): InFlight {
    this.#count += 1;
    return new InFlight(this.#release);
  }

  readonly #release = (): void => {
    this.#count -= 1;
    if (this.#count > 0) return;
    this.#drained?.resolve();
    this.#drained = undefined;
  };

  /** Resolves as soon as nothing is in flight. */
  async drained(): Promise<void> {
    if (this.#count === 0) return;
    this.#drained ??= Promise.withResolvers();
    await this.#drained.promise;
  }
}
