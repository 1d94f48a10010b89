/**
 * The port to what Stonegate's own credential may do at the API server, and the removal of extras that it may not
 * impersonate: the API server refuses a whole request for one such key. Implemented in `clients/upstream-rights.ts`.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import { memoizeByReference } from '../lib/memoize.ts';

export interface UpstreamRights {
  /** The optional extra keys that are omitted; another object after each change. */
  readonly withheld: ReadonlySet<string>;
  /** Whether the API server has constrained impersonation. */
  readonly constrained: boolean;
  /** Reports that the API server refused a request because of Stonegate's own rights: they are asked for again. */
  refused(): void;
}

const withoutKeys = memoizeByReference((withheld: ReadonlySet<string>) =>
  memoizeByReference((user: UserInfo): UserInfo => {
    const kept = Object.entries(user.extra).filter(([key]) => !withheld.has(key));
    return kept.length === Object.keys(user.extra).length
      ? user
      : { ...user, extra: Object.fromEntries(kept) };
  }),
);

/** @returns the same object for the same user, as what is computed once per user is kept with it */
export function withoutWithheld(user: UserInfo, withheld: ReadonlySet<string>): UserInfo {
  return withheld.size === 0 ? user : withoutKeys(withheld)(user);
}
