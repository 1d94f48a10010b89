/**
 * Rate limits of sign-ins at the portal. Names are hashed, since clients decide how long they are.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { sourceKey } from '../lib/source-key.ts';
import { createRateLimiter, type Rate } from './rate-limiter.ts';

/**
 * Per source address, against one client that tries many users or makes Stonegate ask the backends for
 * nothing; and per user, against many clients that try one. An attacked user waits up to a minute too, which
 * is better than a guessed password.
 */
export interface SignInRateLimiter {
  /**
   * @param user whose password is tried; undefined if an issuer asks for it
   * @returns whose limit is exceeded, if one is; a try that is refused counts for the source alone
   */
  admit(source: string, user: string | undefined): 'source' | 'user' | undefined;
  /** The user's password was right: gives the try back, so that only wrong ones count for the user. */
  succeeded(user: string): void;
}

export function createSignInRateLimit(options: {
  readonly perSource: Rate;
  readonly perUser: Rate;
  readonly clock: Clock;
}): SignInRateLimiter {
  const { perSource, perUser, clock } = options;
  const sources = createRateLimiter({ ...perSource, clock });
  const users = createRateLimiter({ ...perUser, clock });
  return {
    admit(source, user) {
      if (!sources.take(sourceKey(source))) return 'source';
      return user === undefined || users.take(hash('sha256', user)) ? undefined : 'user';
    },
    succeeded(user) {
      users.spend(hash('sha256', user), -1);
    },
  };
}
