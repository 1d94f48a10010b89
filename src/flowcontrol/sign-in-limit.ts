/**
 * How often signing in may be tried: per source address, against one who tries many users or makes us ask the backends
 * for nothing, and per user, against many who try one. A user who is under attack waits too; a minute's patience is
 * better than a guessed password.
 */
import type { Clock } from '../lib/clock.ts';
import { sourceKey } from '../lib/source-key.ts';
import { createTokenBuckets } from './token-buckets.ts';

interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

const MAX_KEYS = 10_000;

export interface SignInLimit {
  /**
   * @param user whose password is tried; undefined where an issuer asks for it
   * @returns whose bound is reached, if one is; a try that is refused counts for the source alone
   */
  admit(source: string, user: string | undefined): 'source' | 'user' | undefined;
}

export function createSignInLimit(options: {
  readonly perSource: Rate;
  readonly perUser: Rate;
  readonly clock: Clock;
}): SignInLimit {
  const { perSource, perUser, clock } = options;
  const sources = createTokenBuckets({ ...perSource, maxKeys: MAX_KEYS, clock });
  const users = createTokenBuckets({ ...perUser, maxKeys: MAX_KEYS, clock });
  return {
    admit(source, user) {
      if (!sources.take(sourceKey(source))) return 'source';
      return user === undefined || users.take(user) ? undefined : 'user';
    },
  };
}
