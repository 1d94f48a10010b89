/**
 * Memory for the responses that Stonegate makes itself, until their clients have taken them. It is bounded
 * for each tenant, so that clients that read slowly, or not at all, cost their own tenant and no other.
 */

import { StatusError } from '../errors/status-error.ts';
import { ByteBudget, type ByteBudgetOptions } from './byte-budget.ts';
import { MADE_RESPONSES } from './memory-bounds.ts';

/** A body that at least one response holds. */
interface Shared {
  holders: number;
  readonly release: () => void;
}

export class ResponseMemory extends ByteBudget {
  readonly #perTenant: number;
  readonly #bodies = new Map<string, Map<Buffer, Shared>>();

  constructor(options: ByteBudgetOptions = MADE_RESPONSES) {
    super(options);
    this.#perTenant = options.perKey;
  }

  /**
   * A body that several responses share counts once for each tenant.
   *
   * @returns the same response; its `release`, which is idempotent, is to be called once it is written
   * @throws StatusError TenantRateExceeded; ListTooLarge if there is never room for it
   */
  charged<R extends { readonly body: Buffer }>(
    tenant: string,
    response: R,
  ): R & { readonly release: () => void } {
    const { body } = response;
    const ofTenant = this.#bodies.get(tenant) ?? new Map<Buffer, Shared>();
    const shared = ofTenant.get(body) ?? { holders: 0, release: this.#reserve(tenant, body.length) };
    shared.holders += 1;
    ofTenant.set(body, shared);
    this.#bodies.set(tenant, ofTenant);
    let isReleased = false;
    const release = () => {
      if (isReleased) return;
      isReleased = true;
      shared.holders -= 1;
      if (shared.holders > 0) return;
      shared.release();
      ofTenant.delete(body);
      if (ofTenant.size === 0) this.#bodies.delete(tenant);
    };
    return { ...response, release };
  }

  #reserve(tenant: string, bytes: number): () => void {
    const reservation = this.reservation(tenant);
    if (reservation.resize(bytes)) return reservation.release;
    if (bytes > this.#perTenant)
      throw new StatusError(
        'ListTooLarge',
        `the response has ${bytes} bytes, and ${this.#perTenant} are allowed: request it in pages (limit), or less of it`,
      );
    throw new StatusError(
      'TenantRateExceeded',
      'Too many requests, please try again later: too many large responses wait for their clients',
    );
  }
}
