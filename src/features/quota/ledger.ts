/**
 * What a tenant uses, and what was admitted and is not counted yet: pure decisions on one TenantQuota. A
 * replica reserves what it admits; the counter ends a reservation when it has seen what became of the object.
 */

import { exceedingQuota } from '../../kubernetes/resource-quota/quota-check.ts';
import {
  exceeding,
  largest,
  NOTHING,
  smallest,
  sum,
  type Usage,
} from '../../kubernetes/resource-quota/usage.ts';
import { createReservation, type Reservation, type ReservedObject } from './reservation.ts';

export interface Ledger {
  readonly hard: Usage;
  /** Without the resources that have never been counted. */
  readonly used: Usage;
  /** By the id of the object. */
  readonly reservations: ReadonlyMap<string, Reservation>;
  /** What is admitted and not counted, over all reservations. */
  readonly reserved: Usage;
  /** The length of all lines. */
  readonly bytes: number;
}

export function createLedger(hard: Usage, used: Usage, reservations: Iterable<Reservation>): Ledger {
  const byID = new Map([...reservations].map((reservation) => [reservation.id, reservation]));
  const all = [...byID.values()];
  const bytes = all.reduce((total, { line }) => total + line.length + 1, 0);
  return { hard, used, reservations: byID, reserved: sum(all.map(pending)), bytes };
}

/** What one request asks for. */
export interface Claim {
  /** As a reservation has it. */
  readonly id: string;
  readonly object: ReservedObject;
  /** Of the stored object; 0 for a new one. */
  readonly revision: number;
  /** The stored object uses this much; a new one uses nothing. */
  readonly before: Usage;
  readonly after: Usage;
}

export type Verdict =
  /** `ledger` differs from the one that was judged if something is to be reserved. */
  | { readonly kind: 'admitted'; readonly ledger: Ledger }
  /** `requested`: what does not fit beside what `ledger` has. */
  | { readonly kind: 'exceeded'; readonly requested: Usage; readonly ledger: Ledger }
  /** Some of the resources have never been counted. */
  | { readonly kind: 'uncounted'; readonly resources: readonly string[] }
  /** There are too many reservations. */
  | { readonly kind: 'full' };

/** Each write of a TenantQuota costs the API server time for every line, and etcd takes at most 1.5 MB. */
const MAX_RESERVATIONS = 1_024;
const MAX_BYTES = 256 * 1_024;

/**
 * Judges one request on one snapshot: what does not increase is always admitted.
 *
 * @param mark of the reservation that is made
 */
export function judge(ledger: Ledger, claim: Claim, mark: string): Verdict {
  const [before, after] = [limitedBy(ledger, claim.before), limitedBy(ledger, claim.after)];
  if (exceeding(after, before).size === 0) return { kind: 'admitted', ledger };
  const { asked, ledger: reserved } = reserve(ledger, claim, mark);
  const uncounted = [...asked.keys()].filter((resource) => !ledger.used.has(resource));
  if (uncounted.length > 0) return { kind: 'uncounted', resources: uncounted.sort() };
  const requested = exceedingQuota(asked, ledger.hard, sum([ledger.used, ledger.reserved]));
  if (requested.size > 0) return { kind: 'exceeded', requested, ledger };
  const isFull = reserved.reservations.size > MAX_RESERVATIONS || reserved.bytes > MAX_BYTES;
  return isFull ? { kind: 'full' } : { kind: 'admitted', ledger: reserved };
}

/**
 * Reserves what a request asks for, however much that is.
 *
 * @returns `asked`: what is reserved more than before
 */
export function reserve(ledger: Ledger, claim: Claim, mark: string): { asked: Usage; ledger: Ledger } {
  const { id, object } = claim;
  const [before, after] = [limitedBy(ledger, claim.before), limitedBy(ledger, claim.after)];
  const present = ledger.reservations.get(id);
  // Without a reservation the counter has seen at least what is stored. With one it may have seen more than
  // this review, which may be late, and less than the review that made it.
  const seen = present === undefined ? before : smallest(present.seen, before);
  const usage = present === undefined ? after : largest(present.usage, after);
  const asked = exceeding(exceeding(usage, seen), present === undefined ? NOTHING : pending(present));
  const revision = Math.max(present?.revision ?? 0, claim.revision);
  // Even if nothing more is asked for: the object may be stored only after the time of the former review.
  const reservation = createReservation({ id, mark, revision, object, usage, seen });
  const reservations = new Map(ledger.reservations).set(id, reservation);
  const bytes = ledger.bytes + reservation.line.length - (present?.line.length ?? -1);
  return { asked, ledger: { ...ledger, reservations, reserved: sum([ledger.reserved, asked]), bytes } };
}

/** @param id of a reservation */
export function without(ledger: Ledger, id: string): Ledger {
  if (!ledger.reservations.has(id)) return ledger;
  const others = [...ledger.reservations.values()].filter((one) => one.id !== id);
  return createLedger(ledger.hard, ledger.used, others);
}

/** @returns what is free of a resource; 0 close to its limit, and before it was counted */
export function freeOf(ledger: Ledger, resource: string): bigint {
  if (!ledger.used.has(resource) || isScarce(ledger, resource)) return 0n;
  return (ledger.hard.get(resource) ?? 0n) - takenOf(ledger, resource);
}

/** A user decides how many resources an object names, and how long the names are: others are not stored. */
export function limitedBy({ hard }: Pick<Ledger, 'hard'>, usage: Usage): Usage {
  return new Map([...usage].filter(([resource]) => hard.has(resource)));
}

function pending({ usage, seen }: Reservation): Usage {
  return exceeding(usage, seen);
}

/** What the counter knows of the object of a reservation. */
export interface Sight {
  /** At which the object is counted, for whatever tenant; undefined if it is not. */
  readonly revision: number | undefined;
  readonly wasDeleted: boolean;
  /**
   * The object's revision at the API server after the time of the reservation, 0 if it has no such object;
   * undefined if it was not asked.
   */
  readonly found: number | undefined;
}

/**
 * Whether what was admitted is counted, or can no longer be stored. A review at the object's present revision
 * can only have failed; the counter must have that revision too, since an earlier review may have stored it.
 */
export function isOver({ revision: reviewed }: Reservation, { revision, wasDeleted, found }: Sight): boolean {
  if (wasDeleted || (revision !== undefined && revision > reviewed)) return true;
  if (found === undefined) return false;
  return found === 0 || (found <= reviewed && revision !== undefined && revision >= found);
}

/**
 * The ledger after counting. What is not counted at the moment stays as it is.
 *
 * @param used the sum over the tenant's objects, of each resource that is counted
 * @param stateOf returns what of a reservation is in `used`; `over` if it ends; undefined if nothing is known
 */
export function settle(
  ledger: Ledger,
  used: Usage,
  stateOf: (reservation: Reservation) => Usage | 'over' | undefined,
): Ledger {
  const reservations = [...ledger.reservations.values()].flatMap((reservation): Reservation[] => {
    const state = stateOf(reservation);
    if (state === undefined) return [reservation];
    return state === 'over' ? [] : [createReservation({ ...reservation, seen: limitedBy(ledger, state) })];
  });
  const limited = limitedBy(ledger, new Map([...ledger.used, ...used]));
  return createLedger(ledger.hard, limited, reservations);
}

/** Reservations with which a ledger is written at once, since each one makes every write slower. */
const MANY = 32;

/** Whether requests may wait for it: room is given back or scarce, or there are many reservations. */
export function isUrgent(before: Ledger, after: Ledger): boolean {
  if (before.reservations.size >= MANY) return true;
  return [...after.hard.keys()].some(
    (resource) =>
      takenOf(after, resource) < takenOf(before, resource) ||
      isScarce(before, resource) ||
      before.used.has(resource) !== after.used.has(resource),
  );
}

function takenOf({ used, reserved }: Ledger, resource: string): bigint {
  return (used.get(resource) ?? 0n) + (reserved.get(resource) ?? 0n);
}

/** Whether more than 3/4 of the limit is taken. */
function isScarce(ledger: Ledger, resource: string): boolean {
  return 4n * takenOf(ledger, resource) > 3n * (ledger.hard.get(resource) ?? 0n);
}
