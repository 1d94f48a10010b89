/**
 * The ages of an entry: fresh until `expiresAt`, refreshed ahead of it from `refreshAt` on, and kept until
 * `discardAt` for the time its backend is down. None of them lies beyond the credential's own end, and a
 * credential is dead at that very millisecond.
 */

export interface Lifetimes {
  /** How long facts are fresh, in milliseconds. */
  readonly ttl: number;
  /** How long beyond that they serve while the backend is down, in milliseconds. */
  readonly staleIfUnavailable: number;
}

export interface EntryTimes {
  readonly refreshAt: number;
  readonly expiresAt: number;
  readonly discardAt: number;
}

/** The share of its freshness after which an entry is refreshed: between these, by chance. */
const EARLIEST_REFRESH = 0.7;
const LATEST_REFRESH = 0.9;

/**
 * @param storedAt when the backend vouched, in milliseconds since the epoch
 * @param fraction uniform in [0, 1): spreads the refreshes of entries made together
 */
export function entryTimes(
  storedAt: number,
  credentialExpiresAt: number,
  { ttl, staleIfUnavailable }: Lifetimes,
  fraction: number,
): EntryTimes {
  const fresh = storedAt + ttl;
  const share = EARLIEST_REFRESH + (LATEST_REFRESH - EARLIEST_REFRESH) * fraction;
  return {
    // What ends with its credential cannot be refreshed.
    refreshAt: credentialExpiresAt <= fresh ? Number.POSITIVE_INFINITY : storedAt + ttl * share,
    expiresAt: Math.min(fresh, credentialExpiresAt),
    discardAt: Math.min(fresh + staleIfUnavailable, credentialExpiresAt),
  };
}
