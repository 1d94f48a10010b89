/**
 * What a replica has reserved for new objects of one kind before it is asked about them, as a line of its own
 * in the TenantQuota. It admits them in memory, and their own lines follow with its next write.
 */

import { exceeding, NOTHING, type Usage } from '../../kubernetes/resource-quota/usage.ts';
import { type Claim, type Ledger, limitedBy } from './ledger.ts';
import { ANY_NAME } from './reservation.ts';

/** Milliseconds for which a replica admits from what it has reserved in advance. */
export const ADVANCE_LIFETIME = 4_000;

export interface AdvanceOptions {
  /** Differs from that of every other one. */
  readonly id: string;
  /** Such as `pods`. */
  readonly resource: string;
  readonly usage: Usage;
  /** Objects, whatever they use: each is a line of the next write. */
  readonly most: number;
  /** When the write of the line began, in milliseconds of the monotonic clock. */
  readonly begun: number;
}

export class Advance {
  /** As the line of the reservation is made from. */
  readonly claim: Claim;
  /** The claims that were admitted, by the id of their objects. */
  readonly admitted = new Map<string, Claim>();
  readonly #most: number;
  readonly #until: number;
  /** The ledger with the line. */
  readonly #ledger: Ledger;
  #left: Usage;

  constructor({ id, resource, usage, most, begun }: AdvanceOptions, ledger: Ledger) {
    this.claim = claimInAdvance(id, resource, usage);
    this.#until = begun + ADVANCE_LIFETIME;
    this.#ledger = ledger;
    this.#most = most;
    this.#left = usage;
  }

  /**
   * @param now of the monotonic clock, in milliseconds
   * @returns whether the request is admitted; otherwise it is judged by the ledger
   */
  take(claim: Claim, now: number): boolean {
    const { id, object, revision, before, after } = claim;
    const isNew = revision === 0 && before.size === 0 && !this.#ledger.reservations.has(id);
    if (now >= this.#until || !isNew || object.resource !== this.claim.object.resource) return false;
    const asked = limitedBy(this.#ledger, after);
    if (exceeding(asked, NOTHING).size === 0) return true;
    if (this.admitted.has(id) || this.admitted.size === this.#most) return false;
    if (exceeding(asked, this.#left).size > 0) return false;
    this.#left = exceeding(this.#left, asked);
    this.admitted.set(id, claim);
    return true;
  }
}

export function claimInAdvance(id: string, resource: string, after: Usage): Claim {
  return { id, object: { resource, namespace: '', name: ANY_NAME }, revision: 0, before: NOTHING, after };
}
