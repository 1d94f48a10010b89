/** Identities of Keystone and of an issuer, for tests. */
import type { NamedIdentity } from '../../src/tenancy/finished-user.ts';
import type { Identity, QualifiedIdentity, Subject } from '../../src/tenancy/identity.ts';

type KeystoneSubject = Extract<Subject, { kind: 'keystone' }>;
type Changes = Partial<Omit<QualifiedIdentity, 'subject'>>;

/** A Keystone user of the tenant `home` whose token is scoped to `scope`. */
export function keystoneIdentity(
  userName: string,
  {
    home = 'acme',
    scope = home,
    ...changes
  }: { home?: string; scope?: string } & Omit<Changes, 'scope'> = {},
  delegation?: KeystoneSubject['delegation'],
): NamedIdentity {
  const scopeDomain = { id: `id-of-${scope}`, name: scope };
  return {
    authenticator: 'keystone',
    subject: {
      kind: 'keystone',
      userName,
      userDomain: { id: `id-of-${home}`, name: home },
      scopeDomain,
      ...(delegation === undefined ? {} : { delegation }),
    },
    tenantOrigin: { from: 'domain', domain: scopeDomain },
    uid: `uid-of-${userName}`,
    groups: [],
    extra: {},
    expiresAt: 0,
    auditAnnotations: {},
    ...changes,
  };
}

/** @param name the prefix of the issuer followed by the claim */
export function claimIdentity(name: string, tenant = 'acme', changes: Changes = {}): NamedIdentity {
  return {
    authenticator: 'jwt',
    subject: { kind: 'claim', name },
    tenantOrigin: { from: 'issuer', tenant },
    uid: '',
    groups: [],
    extra: {},
    expiresAt: 0,
    auditAnnotations: {},
    ...changes,
  };
}

/** A user whom the API server authenticated in a token review. */
export function upstreamIdentity(
  username: string,
  tenant = 'acme',
  changes: Changes = {},
): QualifiedIdentity {
  const user = { username, uid: '', groups: ['system:authenticated'], extra: {} };
  return {
    authenticator: 'token-review',
    subject: { kind: 'upstream', user },
    tenantOrigin: { from: 'issuer', tenant },
    uid: '',
    groups: user.groups,
    extra: {},
    expiresAt: Number.POSITIVE_INFINITY,
    auditAnnotations: {},
    ...changes,
  };
}

/** The groups as the user's source gives them. */
export function groupsOf(identity: Identity): readonly string[] {
  return 'groups' in identity ? identity.groups : identity.subject.groups;
}
