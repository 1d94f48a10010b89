/**
 * Reserving in advance: a replica reserves for new objects of one kind before it is asked about them, as a
 * line of its own in the TenantQuota. It admits them in memory, and their own lines follow with its next
 * write.
 */
import { exceeding, NOTHING, type Usage } from '../../kubernetes/resource-quota/usage.ts';
import { type Claim, freeOf, type Ledger, limitedBy } from './ledger.ts';
import { ANY_NAME } from './reservation.ts';

/** Milliseconds for which a replica admits from what it has reserved in advance. */
export const ADVANCE_LIFETIME = 4_000;

/** How much a replica reserves in advance: one part in `share` of what is free, for at most `objects`. */
export interface AdvanceBounds {
  readonly share: bigint;
  readonly objects: bigint;
}

/**
 * Decides what a replica reserves in advance for objects like one that it admitted.
 *
 * @param id differs from that of every other reservation
 * @returns undefined close to a limit, and if it is not enough for two
 */
export function advanceClaim(
  id: string,
  ledger: Ledger,
  { object: { resource }, after }: Claim,
  { share, objects }: AdvanceBounds,
): Claim | undefined {
  const asked = [...limitedBy(ledger, after)].filter(([, amount]) => amount > 0n);
  const counts = asked.map(([name, amount]) => freeOf(ledger, name) / share / amount);
  const [count = 0n] = [objects, ...counts].sort((one, other) => (one < other ? -1 : 1));
  if (asked.length === 0 || count < 2n) return undefined;
  const usage = new Map(asked.map(([name, amount]) => [name, amount * count]));
  return {
    id,
    object: { resource, namespace: '', name: ANY_NAME },
    revision: 0,
    before: NOTHING,
    after: usage,
  };
}

export class Advance {
  readonly claim: Claim;
  /** The claims that were admitted, by the id of their objects. */
  readonly admitted = new Map<string, Claim>();
  readonly #most: number;
  #until: number;
  #left: Usage;

  /**
   * @param most objects, whatever they use: each is a line of the next write
   * @param begun when the write of the line began, in milliseconds of the monotonic clock
   */
  constructor(claim: Claim, most: number, begun: number) {
    this.claim = claim;
    this.#most = most;
    this.#until = begun + ADVANCE_LIFETIME;
    this.#left = claim.after;
  }

  /** Admits nothing any more. */
  end(): void {
    this.#until = Number.NEGATIVE_INFINITY;
  }

  get hasEnded(): boolean {
    return this.#until === Number.NEGATIVE_INFINITY;
  }

  /**
   * @param ledger with the line
   * @param now of the monotonic clock, in milliseconds
   * @returns whether the request is admitted; otherwise it is judged by the ledger
   */
  take(claim: Claim, ledger: Ledger, now: number): boolean {
    const { id, object, revision, before, after } = claim;
    const isNew = revision === 0 && before.size === 0 && !ledger.reservations.has(id);
    if (now >= this.#until || !isNew || object.resource !== this.claim.object.resource) return false;
    const asked = limitedBy(ledger, after);
    if (exceeding(asked, NOTHING).size === 0) return true;
    if (this.admitted.has(id) || this.admitted.size === this.#most) return false;
    if (exceeding(asked, this.#left).size > 0) return false;
    this.#left = exceeding(this.#left, asked);
    this.admitted.set(id, claim);
    return true;
  }
}
