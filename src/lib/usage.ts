/**
 * Who is using something that is to be ended once nobody does.
 */

export class Usage<User> {
  readonly #users = new Set<User>();
  /** Whoever waits for the last to leave. */
  #emptied: PromiseWithResolvers<void> | undefined;

  enter(user: User): void {
    this.#users.add(user);
  }

  /** Of whom has left already, or was never there, it does nothing. */
  leave(user: User): void {
    if (!this.#users.delete(user) || this.#users.size > 0) return;
    this.#emptied?.resolve();
    this.#emptied = undefined;
  }

  /** Resolves as soon as there is no user. */
  async ended(): Promise<void> {
    if (this.#users.size === 0) return;
    this.#emptied ??= Promise.withResolvers();
    await this.#emptied.promise;
  }
}
