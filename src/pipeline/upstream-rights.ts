/**
 * Removes the extras that Stonegate may not impersonate: the API server refuses a whole request for one such key.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import { memoizeByReference } from '../lib/memoize.ts';

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
