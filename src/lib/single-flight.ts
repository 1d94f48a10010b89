/**
 * One piece of work per key at a time: whoever asks while it runs shares its result, so that a thousand
 * requests with one unknown token become one question to the backend.
 */

export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  /** The result of the work already under way for `key`, or of `work`, which is then started. */
  do(key: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running) return running;
    const started = work().finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  /** How many keys have work under way. */
  get size(): number {
    return this.#running.size;
  }
}
