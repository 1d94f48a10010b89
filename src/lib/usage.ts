/**
 * Who is using something that is to be ended once nobody does.
 */

export class Usage<User> {
  readonly #users = new Set<User>();
  #emptied = Promise.withResolvers<void>();

  enter(user: User): void {
    this.#users.add(user);
  }

  /** Of whom has left already, or was never there, it does nothing. */
  leave(user: User): void {
    if (!this.#users.delete(user) || this.#users.size > 0) return;
    this.#emptied.resolve();
    this.#emptied = Promise.withResolvers();
  }

  /** Resolves as soon as there is no user. */
  async ended(): Promise<void> {
    if (this.#users.size > 0) await this.#emptied.promise;
  }
}
