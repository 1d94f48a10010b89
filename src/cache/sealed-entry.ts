/**
 * What is sealed of an entry. It was made by a replica that holds the key, yet perhaps by another version of
 * Stonegate: so its shape is checked like any input's.
 */
import { isJSONObject } from '../lib/json-object.ts';

export interface SealedEntry {
  /** The facts, as the cache's codec wrote them. */
  readonly value: string;
  /** When the backend vouched for them. All times in milliseconds since the epoch. */
  readonly storedAt: number;
  /** The credential's own end. */
  readonly credentialExpiresAt: number;
  /** When the entry is dead, whatever happens; never later than the credential. */
  readonly discardAt: number;
  /** Each tag's epoch before the backend was asked. */
  readonly epochs: Readonly<Record<string, number>>;
}

/** @param text what was opened */
export function parseSealedEntry(text: string): SealedEntry | undefined {
  let entry: unknown;
  try {
    entry = JSON.parse(text);
  } catch {
    // Not ours, then: the shape decides.
    return undefined;
  }
  return isSealedEntry(entry) ? entry : undefined;
}

function isSealedEntry(entry: unknown): entry is SealedEntry {
  if (!isJSONObject(entry) || typeof entry.value !== 'string' || !isJSONObject(entry.epochs)) return false;
  const numbers = [
    entry.storedAt,
    entry.credentialExpiresAt,
    entry.discardAt,
    ...Object.values(entry.epochs),
  ];
  return numbers.every((number) => typeof number === 'number' && Number.isFinite(number));
}
