/**
 * How many bytes of responses Stonegate holds in memory for its own use: in all, and for one account, so that no tenant
 * takes the memory of the others.
 */
import type { Account } from '../api/upstream-request.ts';

/** Of all responses together, in bytes. */
export const MAX_RESPONSE_MEMORY = 256 * 1024 * 1024;
/** Of one account's. */
export const MAX_ACCOUNT_MEMORY = MAX_RESPONSE_MEMORY / 4;

export class ResponseMemory {
  readonly #accounts = new Map<string, number>();
  #total = 0;

  /** @returns whether there is room; what was taken is given back */
  take(account: Account, bytes: number): boolean {
    const key = keyOf(account);
    const held = (this.#accounts.get(key) ?? 0) + bytes;
    if (this.#total + bytes > MAX_RESPONSE_MEMORY || held > MAX_ACCOUNT_MEMORY) return false;
    this.#total += bytes;
    this.#accounts.set(key, held);
    return true;
  }

  giveBack(account: Account, bytes: number): void {
    const key = keyOf(account);
    const held = (this.#accounts.get(key) ?? 0) - bytes;
    this.#total -= bytes;
    if (held > 0) this.#accounts.set(key, held);
    else this.#accounts.delete(key);
  }

  /** In bytes. */
  get held(): number {
    return this.#total;
  }
}

function keyOf(account: Account): string {
  switch (account.kind) {
    case 'tenant':
      return `tenant ${account.tenant}`;
    default:
      return account.kind;
  }
}
