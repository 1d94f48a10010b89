/**
 * Keeps the stored access tokens, and writes when they were used, to the hour.
 */
import { timestamp } from '../../lib/go-time.ts';
import { OwnerUpkeep, type OwnerUpkeepOptions } from '../owner-upkeep.ts';
import { STORED_TOKENS } from './access-token-v1alpha1.ts';
import { endOf } from './token-authenticator.ts';
import { type AccessToken, identityOf } from './token-store.ts';

/** Milliseconds. */
const HOUR = 3_600_000;

export function createTokenUpkeep(
  options: Omit<OwnerUpkeepOptions<AccessToken>, 'kind' | 'endedAt' | 'identityOf'>,
) {
  const endedAt = (token: AccessToken, now: number) => endOf(token, now)?.at;
  const upkeep = new OwnerUpkeep({ ...options, kind: STORED_TOKENS, endedAt, identityOf });
  return {
    upkeep,
    used(token: AccessToken): void {
      const now = options.clock.now();
      if (now - token.lastUsedAt >= HOUR) upkeep.note(token, { lastUsed: timestamp(now) });
    },
  };
}
