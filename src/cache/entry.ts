/**
 * An entry's lifetime and its sealed form. An entry is fresh until `expiresAt`, refreshed ahead of it from
 * `refreshAt` on, and stored until `discardAt` for the time in which its backend is down. None of these is
 * after the credential's own expiry.
 */
import { z } from 'zod';
import { parseJSON } from '../lib/parse-json.ts';
import type { Output } from '../lib/schema-fields.ts';

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

/** All times are in milliseconds since the epoch. */
const sealedEntrySchema = z.strictObject({
  /** The facts, as the cache's codec wrote them. */
  value: z.string(),
  /** When the backend vouched for them. */
  storedAt: z.number(),
  credentialExpiresAt: z.number(),
  /** When the entry is dead, whatever happens; never later than the credential. */
  discardAt: z.number(),
  /** Each tag's epoch before the backend was asked. */
  epochs: z.record(z.string(), z.number()),
});

export type SealedEntry = Output<typeof sealedEntrySchema>;

/**
 * Checks the shape like any input's: a replica with the key has sealed it, but perhaps another version of
 * Stonegate.
 *
 * @param text what was opened
 */
export function parseSealedEntry(text: string): SealedEntry | undefined {
  return parseJSON(text, sealedEntrySchema);
}
