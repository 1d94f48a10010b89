/**
 * Keeps the stored access tokens, and writes when they were used, to the hour.
 */
import { timestamp } from '../../lib/go-time.ts';
import { OwnerUpkeep, type OwnerUpkeepOptions } from '../owner-upkeep.ts';
import { STORED_TOKENS } from './access-token-v1alpha1.ts';
import { endOf } from './token-authenticator.ts';
import { type AccessToken, identityOf } from './token-store.ts';

export type TokenUpkeepOptions = Omit<OwnerUpkeepOptions<AccessToken>, 'kind' | 'endedAt' | 'identityOf'>;

/** Milliseconds. */
const HOUR = 3_600_000;

export class TokenUpkeep extends OwnerUpkeep<AccessToken> {
  readonly #clock: TokenUpkeepOptions['clock'];

  constructor(options: TokenUpkeepOptions) {
    const endedAt = (token: AccessToken, now: number) => endOf(token, now)?.at;
    super({ ...options, kind: STORED_TOKENS, endedAt, identityOf });
    this.#clock = options.clock;
  }

  used(token: AccessToken): void {
    const now = this.#clock.now();
    if (now - token.lastUsedAt >= HOUR) this.note(token, { lastUsed: timestamp(now) });
  }
}
