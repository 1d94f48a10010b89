/**
 * Puts the user's identity on the outgoing request, and checks that exactly that identity is on it. The API
 * server believes these headers because of Stonegate's credential, so a mistake here fails open: the check
 * reads the finished header list and trusts no earlier decision.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */

import { StatusError } from '../../errors/status-error.ts';
import type { UserInfo } from '../../kubernetes/authentication-v1.ts';
import { impersonationHeaders } from '../../kubernetes/impersonation-headers.ts';
import type { HeaderField, HeaderList } from '../../lib/header-list.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import { fieldRule } from '../request/client-headers.ts';

/** What a header line costs beside its name and value: colon, blank, CR, LF. */
const LINE_OVERHEAD = 4;

/** Built once per user. */
const identityHeaders = memoizeByReference(impersonationHeaders);

function sizeOf(headers: HeaderList): number {
  let size = 0;
  for (const field of headers) size += field[0].length + field[1].length + LINE_OVERHEAD;
  return size;
}

export interface ImpersonationOptions {
  /** What the API server takes of request headers in all, in bytes. */
  readonly maxHeaderBytes: number;
  readonly auditID: string;
  /** The client's address, for the API server's own audit log. */
  readonly clientAddress: string;
}

/**
 * @param cleaned the client's headers after `cleanClientHeaders`
 * @throws StatusError IdentityTooLarge if the identity does not fit, InvariantBroken if the request carries
 *   anything but this identity
 */
export function withImpersonationHeaders(
  cleaned: HeaderList,
  user: UserInfo,
  options: ImpersonationOptions,
): HeaderField[] {
  const identity = identityHeaders(user);
  const ours: HeaderField[] = [
    ['Audit-ID', options.auditID],
    ['X-Forwarded-For', options.clientAddress],
  ];
  const headers = cleaned.concat(ours, identity);
  const size = sizeOf(headers);
  if (size > options.maxHeaderBytes) {
    throw new StatusError(
      'IdentityTooLarge',
      `the identity does not fit the API server's limit for headers: ${user.groups.length} groups need ${size} bytes, ${options.maxHeaderBytes} are allowed; fewer groups must be mapped`,
    );
  }
  assertOnlyIdentity(headers, identity);
  return headers;
}

/**
 * Verifies the finished headers before they are sent.
 *
 * @param headers everything that would be sent
 * @param identity exactly what may be on it of impersonation, in this order
 * @throws StatusError InvariantBroken
 */
export function assertOnlyIdentity(headers: HeaderList, identity: HeaderList): void {
  let found = 0;
  for (const field of headers) {
    const expected = identity[found];
    if (field !== expected) {
      const { canonical, impersonates, identity: named } = fieldRule(field[0]);
      if (!impersonates) {
        if (named && canonical !== 'x-forwarded-for') throw invalid();
        continue;
      }
      if (expected === undefined || expected[0] !== field[0] || expected[1] !== field[1]) throw invalid();
    }
    found += 1;
  }
  if (found !== identity.length || !namesOneUser(identity)) throw invalid();
}

/** Whether all fields of a user's identity impersonate, and one user. Checked once per user. */
const namesOneUser = memoizeByReference((identity: HeaderList): boolean => {
  const rules = identity.map(([name]) => fieldRule(name));
  const users = identity.filter((_, at) => rules[at]?.canonical === 'impersonate-user');
  return rules.every(({ impersonates }) => impersonates) && users.length === 1 && users[0]?.[1] !== '';
});

function invalid(): StatusError {
  return new StatusError('InvariantBroken', 'Internal error occurred: invalid impersonation');
}

const withoutKeys = memoizeByReference((withheld: ReadonlySet<string>) =>
  memoizeByReference((user: UserInfo): UserInfo => {
    const impersonable = Object.entries(user.extra).filter(([key]) => !withheld.has(key));
    return impersonable.length === Object.keys(user.extra).length
      ? user
      : { ...user, extra: Object.fromEntries(impersonable) };
  }),
);

/**
 * Removes the extras that Stonegate may not impersonate: the API server refuses a whole request for one such
 * key.
 *
 * @returns the same object for the same user, since what is computed once per user is stored by it
 */
export function withoutWithheld(user: UserInfo, withheld: ReadonlySet<string>): UserInfo {
  return withheld.size === 0 ? user : withoutKeys(withheld)(user);
}
