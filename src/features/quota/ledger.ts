/**
 * What a tenant uses, and what was admitted and is not counted yet: pure decisions on one TenantQuota. A
 * replica reserves what it admits; the counter ends a reservation when it has seen what was reserved.
 */
import { atLeast, exceeding, largest, NOTHING, sum, type Usage } from './usage.ts';

/** What was admitted for one object. */
export interface Reservation {
  /** Identifies the object, also in a repeated review and in a later update. */
  readonly uid: string;
  /** All that the object uses of what is limited when it is stored. */
  readonly usage: Usage;
  /** What of it is counted in `used`. */
  readonly seen: Usage;
}

export interface Ledger {
  readonly hard: Usage;
  /** Undefined until the tenant has been counted once. */
  readonly used: Usage | undefined;
  readonly reservations: readonly Reservation[];
}

/** What one request asks for. */
export interface Claim {
  readonly uid: string;
  /** What the stored object uses; empty for a new one. */
  readonly before: Usage;
  readonly after: Usage;
}

export interface Exceeded {
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly reserved: bigint;
  readonly hard: bigint;
}

export type Verdict =
  /** `ledger` differs from the one that was judged if something is to be reserved. */
  | { readonly kind: 'admitted'; readonly ledger: Ledger }
  | { readonly kind: 'exceeded'; readonly exceeded: readonly Exceeded[] }
  /** Some of the resources have never been counted. */
  | { readonly kind: 'uncounted'; readonly resources: readonly string[] }
  /** There are too many reservations. */
  | { readonly kind: 'full' };

/** An object of the API server holds at most 1.5 MB. */
const MAX_RESERVATIONS = 1_024;

/** Judges one request on one snapshot: what does not increase is always admitted. */
export function judge(ledger: Ledger, { uid, before, after }: Claim): Verdict {
  const present = ledger.reservations.find((reservation) => reservation.uid === uid);
  // Without a reservation the counter has seen at least what is stored.
  const seen = present?.seen ?? before;
  const usage = limitedBy(ledger, present === undefined ? after : largest(present.usage, after));
  const asked = exceeding(exceeding(usage, seen), present === undefined ? NOTHING : pending(present));
  if (asked.size === 0) return { kind: 'admitted', ledger };
  const { used = NOTHING } = ledger;
  const uncounted = [...asked.keys()].filter((one) => !used.has(one));
  if (uncounted.length > 0) return { kind: 'uncounted', resources: uncounted.sort() };
  const reserved = reservedIn(ledger);
  const exceeded = [...asked]
    .map(([resource, requested]) => ({
      resource,
      requested,
      used: used.get(resource) ?? 0n,
      reserved: reserved.get(resource) ?? 0n,
      hard: ledger.hard.get(resource) ?? 0n,
    }))
    .filter((one) => one.used + one.reserved + one.requested > one.hard)
    .sort((one, other) => (one.resource < other.resource ? -1 : 1));
  if (exceeded.length > 0) return { kind: 'exceeded', exceeded };
  const others = ledger.reservations.filter((reservation) => reservation !== present);
  if (others.length >= MAX_RESERVATIONS) return { kind: 'full' };
  return {
    kind: 'admitted',
    ledger: { ...ledger, reservations: [...others, { uid, usage, seen: limitedBy(ledger, seen) }] },
  };
}

/** A user decides how many resources an object names, and how long the names are: others are not stored. */
function limitedBy({ hard }: Pick<Ledger, 'hard'>, usage: Usage): Usage {
  return new Map([...usage].filter(([resource]) => hard.has(resource)));
}

/** What is admitted and not counted, over all reservations. */
export function reservedIn({ reservations }: Pick<Ledger, 'reservations'>): Usage {
  return sum(reservations.map(pending));
}

function pending({ usage, seen }: Reservation): Usage {
  return exceeding(usage, seen);
}

/** What the counter knows. */
export interface Counted {
  /** The sum over the tenant's objects, with every resource that is counted. */
  readonly used: Usage;
  /** What the object uses that has this UID; undefined for one that was not seen. */
  usageOf(uid: string): Usage | undefined;
  /** Whether the object can no longer come: it was deleted, or its request is over. */
  isOver(reservation: Reservation): boolean;
}

/** The ledger after counting: reservations end whose object was seen with what it was to use, or is over. */
export function settle(ledger: Ledger, { used, usageOf, isOver }: Counted): Ledger {
  const reservations = ledger.reservations.flatMap((reservation): Reservation[] => {
    const current = usageOf(reservation.uid) ?? NOTHING;
    if (atLeast(current, reservation.usage) || isOver(reservation)) return [];
    return [{ ...reservation, seen: limitedBy(ledger, current) }];
  });
  return { ...ledger, used, reservations };
}
