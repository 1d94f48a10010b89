/**
 * The names that a watch shows if the API server confirms each: those that are allowed, and those that the
 * client has.
 */
import type { NameConfirmation } from './namespace-watch-options.ts';

export class ShownNames {
  readonly #confirmation: NameConfirmation;
  readonly #allowed: Set<string>;
  readonly #shown = new Set<string>();
  #confirming = 0;

  constructor(confirmation: NameConfirmation) {
    this.#confirmation = confirmation;
    this.#allowed = new Set(confirmation.confirmed);
  }

  /** Names that a client may have that watches on, and which are refused now. */
  get revoked(): readonly string[] {
    return this.#confirmation.revoked;
  }

  get allowed(): ReadonlySet<string> {
    return this.#allowed;
  }

  /** Whether the client has it. */
  has(name: string): boolean {
    return this.#shown.has(name);
  }

  add(name: string): void {
    this.#shown.add(name);
  }

  delete(name: string): void {
    this.#shown.delete(name);
  }

  /** Whether the name became visible after the reviews. */
  isUnreviewed(name: string): boolean {
    return !this.#confirmation.reviewed.has(name);
  }

  /** Whether a name that becomes visible is shown. @throws StatusError as the review does */
  async confirm(name: string): Promise<boolean> {
    this.#confirming += 1;
    try {
      return await this.#confirmation.confirm(name);
    } finally {
      this.#confirming -= 1;
    }
  }

  /** Whether a name may have to be told that is being reviewed. */
  get isConfirming(): boolean {
    return this.#confirming > 0;
  }

  /**
   * @param reviewed called if a name comes to be allowed or refused
   * @returns ends it
   */
  follow(reviewed: (name: string, isAllowed: boolean) => void, failed: (error: unknown) => void): () => void {
    return this.#confirmation.follow({
      shown: () => this.#shown,
      reviewed: (name, isAllowed) => {
        if (isAllowed) this.#allowed.add(name);
        else this.#allowed.delete(name);
        reviewed(name, isAllowed);
      },
      failed,
    });
  }
}
