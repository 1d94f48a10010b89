/**
 * Remembers which tokens were found genuine, since checking a signature costs more than all else Stonegate does
 * with a small request. What is remembered are the verified claims, never the token (a digest is the key). Bounded; the
 * token used longest ago goes first.
 */
import type { Clock } from '../lib/clock.ts';
import { type Digestible, digestOf } from '../lib/credential-digest.ts';

const MAX_AGE = 60_000;

export interface VerifiedTokens<V> {
  get(token: Digestible): V | undefined;
  /** @param expiresAt the token's own end, in milliseconds since the epoch */
  set(token: Digestible, value: V, expiresAt: number): void;
}

export function createVerifiedTokens<V>(options: {
  readonly maxEntries: number;
  readonly clock: Clock;
}): VerifiedTokens<V> {
  const { maxEntries, clock } = options;
  const entries = new Map<string, { readonly value: V; readonly until: number }>();
  return {
    get(token) {
      const key = digestOf(token);
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      if (entry.until <= clock.now()) return undefined;
      entries.set(key, entry);
      return entry.value;
    },
    set(token, value, expiresAt) {
      entries.set(digestOf(token), {
        value,
        until: Math.min(clock.now() + MAX_AGE, expiresAt),
      });
      const [eldest] = entries.keys();
      if (entries.size > maxEntries && eldest !== undefined) entries.delete(eldest);
    },
  };
}
