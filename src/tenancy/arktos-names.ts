/**
 * The user names of Arktos: what stands before the first colon is the tenant. Two sources never give the same
 * name, and none gives a guest's.
 */

import { refusedName } from '../errors/status-error.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import { GUEST_PREFIX } from '../kubernetes/reserved-names.ts';
import type { NamedIdentity } from './finished-user.ts';
import type { Identity } from './identity.ts';
import { DELEGATION_WORDS, escapeNamePart, nameInDomain } from './user-name.ts';

/** What the names of a tenant's users begin with. */
export function prefixOf(tenant: TenantName, systemUser: boolean): string {
  // The second word keeps Keystone's users apart from the cluster's own `system:` users.
  return systemUser ? `${tenant}:stonegate:` : `${tenant}:`;
}

/**
 * @returns the name without the tenant's prefix
 * @throws StatusError IdentityReserved or IdentityUnusable
 */
export function nameWithin({ subject }: NamedIdentity): string {
  if (subject.kind === 'claim') return claimedName(subject.name);
  const name = nameInDomain(subject);
  const atHome = subject.delegation !== undefined || subject.userDomain.id === subject.scopeDomain.id;
  return atHome ? name : `${name}@${escapeNamePart(subject.userDomain.name)}`;
}

function claimedName(name: string): string {
  if (name.startsWith(GUEST_PREFIX)) throw reserved(GUEST_PREFIX, name);
  const [word = ''] = name.split(':', 1);
  if (DELEGATION_WORDS.has(word)) throw reserved(`${word}:`, name);
  return name;
}

/**
 * A user whom the API server itself authenticated has their name from there.
 *
 * @throws StatusError IdentityReserved for a name that only a guest has
 */
export function assertNoGuestName({ subject }: Identity): void {
  if (subject.kind !== 'upstream') return;
  const { username } = subject.user;
  if (username.slice(username.indexOf(':') + 1).startsWith(GUEST_PREFIX))
    throw reserved(GUEST_PREFIX, username);
}

function reserved(prefix: string, name: string): Error {
  return refusedName(
    'IdentityReserved',
    `this identity is refused: names under "${prefix}" are reserved`,
    name,
  );
}
