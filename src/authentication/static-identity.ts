/**
 * Who somebody is that an operator has written into a file. The file is the operator's word: it ends with the next
 * reload that does not have the line any more.
 */

import type { StaticUser } from '../api/credentials.ts';
import type { Identity } from '../api/identity.ts';
import { memoizeByReference } from '../lib/memoize.ts';

/** @returns the same object for the same user, so that what depends on it is made once */
export function identityOfStaticUser(authenticator: string): (user: StaticUser) => Identity {
  return memoizeByReference(({ name, uid, groups, tenant }: StaticUser) => ({
    authenticator,
    subject: { kind: 'claim', name },
    tenantOrigin: { from: 'issuer', tenant },
    uid,
    groups,
    extra: {},
    expiresAt: Number.POSITIVE_INFINITY,
    auditAnnotations: {},
  }));
}
