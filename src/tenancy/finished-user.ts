/**
 * The last check of a user before it is sent to the API server, the same for every tenancy mode: nothing from
 * outside may become one of the cluster's own users, groups or attributes. Such input is refused, never
 * dropped silently: a user who lost a group unnoticed would lose rights at random.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects
 */

import { refusedName, StatusError } from '../errors/status-error.ts';
import type { Extra, UserInfo } from '../kubernetes/authentication-v1.ts';
import { AUTHENTICATED, reservedPrefixOf, SENDABLE_EXTRA_KEY } from '../kubernetes/reserved-names.ts';
import type { TenancyFacts } from './facts.ts';
import type { Identity, QualifiedIdentity } from './identity.ts';
import { assertSendable, assertUsable, qualified } from './user-name.ts';

/** The domain of the extra keys and groups that only Stonegate itself may set. */
const OWN_DOMAIN = 'stonegate.dev';

/** What a tenancy mode adds to an identity. */
export interface Addition {
  readonly username: string;
  /** True for a name under `system:` that the mode itself has chosen. */
  readonly systemUser?: boolean;
  readonly groups?: readonly string[];
  readonly extra?: Extra;
}

/**
 * @throws StatusError IdentityReserved for what belongs to the cluster or to Stonegate, IdentityUnusable for
 *   what would arrive as something else
 */
export function finishedUser(identity: NamedIdentity, addition: Addition): UserInfo {
  assertUserName(identity, addition);
  assertSendable(identity.uid, 'the user id');
  for (const group of identity.groups) assertGroup(group, identity);
  for (const [key, values] of Object.entries(identity.extra)) assertExtra(key, values);
  return {
    username: addition.username,
    uid: identity.uid,
    groups: [...new Set([...identity.groups, ...(addition.groups ?? []), AUTHENTICATED])],
    extra: { ...identity.extra, ...addition.extra },
  };
}

function assertUserName({ subject }: NamedIdentity, { username, systemUser = false }: Addition): void {
  assertUsable(username, 'the user name');
  const claimed = subject.kind === 'claim' && reservedPrefixOf(subject.name) !== undefined;
  if (claimed || (username.startsWith('system:') && !systemUser)) throw reserved('the user name', username);
}

function assertGroup(group: string, { subject }: NamedIdentity): void {
  assertUsable(group, 'a group');
  const fromClaim = subject.kind === 'claim' && group.startsWith('keystone:');
  const ours = group.startsWith('stonegate:');
  if (fromClaim || ours || (group.startsWith('system:') && group !== AUTHENTICATED))
    throw reserved('the group', group);
}

function assertExtra(key: string, values: readonly string[]): void {
  if (!SENDABLE_EXTRA_KEY.test(key)) {
    throw new StatusError(
      'IdentityUnusable',
      `this identity cannot be used: the extra key ${JSON.stringify(key)} holds characters that a key may not have`,
    );
  }
  const [domain = ''] = key.split('/', 1);
  if (domain === OWN_DOMAIN || domain.endsWith(`.${OWN_DOMAIN}`)) throw reserved('the extra key', key);
  for (const value of values) assertSendable(value, `a value of the extra key ${JSON.stringify(key)}`);
}

function reserved(what: string, name: string): StatusError {
  const message = `this identity is refused: ${what} ${JSON.stringify(name)} is reserved`;
  return refusedName('IdentityReserved', message, name);
}

/** An identity whose name the tenancy mode builds. */
export type NamedIdentity = QualifiedIdentity & {
  readonly subject: Extract<QualifiedIdentity['subject'], { kind: 'keystone' | 'claim' }>;
};

/** @returns undefined for a user whom the mode does not name: anonymous, or known to the API server */
export function namedOf(
  identity: Identity,
  facts: Pick<TenancyFacts, 'readsTenantFromName'>,
): NamedIdentity | undefined {
  const known = qualified(identity, facts);
  const { subject } = known;
  return subject.kind === 'keystone' || subject.kind === 'claim' ? { ...known, subject } : undefined;
}

const ANONYMOUS: UserInfo = {
  username: 'system:anonymous',
  uid: '',
  groups: ['system:unauthenticated'],
  extra: {},
};

/**
 * @param named makes the user of whom the mode has to name
 * @throws what `named` throws
 */
export function userOrNamed(
  identity: Identity,
  facts: Pick<TenancyFacts, 'readsTenantFromName'>,
  named: (identity: NamedIdentity) => UserInfo,
): UserInfo {
  const { subject } = identity;
  if (subject.kind === 'upstream') return subject.user;
  const toName = namedOf(identity, facts);
  return toName === undefined ? ANONYMOUS : named(toName);
}
