/**
 * Owners: users in whose name an access token or an invitation acts while they are not there. The object has
 * the owner's identity of that time. What the owner is now is found at each use: users of Keystone and of
 * local files are looked up, and all others are known from their last sign-in.
 */
import { isDeepStrictEqual } from 'node:util';
import { StatusError, unauthorized } from '../errors/status-error.ts';
import { CREDENTIAL_ID_KEY } from '../kubernetes/reserved-names.ts';
import type { Clock } from '../lib/clock.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { TenancyFacts } from '../tenancy/facts.ts';
import type { Identity, QualifiedIdentity } from '../tenancy/identity.ts';
import { isUsableName, KEYSTONE_EXTRA } from '../tenancy/keystone-groups.ts';
import type { UserReference } from '../tenancy/keystone-v3.ts';
import { qualified } from '../tenancy/user-name.ts';

export interface StoredOwner {
  readonly identity: QualifiedIdentity;
  /** When the owner last signed in, in milliseconds since the epoch. */
  readonly signedInAt: number;
}

/** Finds the Keystone users who may sign in now. */
export interface EnabledUsers {
  /**
   * @returns undefined for a user who is gone, or is disabled, alone or with the domain
   * @throws StatusError KeystoneUnavailable
   */
  enabledUser(id: string): Promise<UserReference | undefined>;
}

export interface OwnersOptions {
  /** Absent if roles are not looked up: then Keystone's users own nothing. */
  readonly keystone?: EnabledUsers | undefined;
  /** Whether users of this source can still sign in. */
  readonly isConfigured: (source: string) => boolean;
  /** All users of an authenticator as they are now; undefined if it does not list them. */
  readonly usersOf: (authenticator: string) => readonly Identity[] | undefined;
  /** The tenancy mode's facts decide how local users are named in stored objects. */
  readonly facts: Pick<TenancyFacts, 'readsTenantFromName'>;
  /** For how many milliseconds after the last sign-in an owner counts who cannot be looked up. */
  readonly signInMaxAge: number;
  readonly clock: Clock;
}

const ISSUER = 'stonegate.dev/issuer';

export interface Owners {
  /**
   * The identity as it is stored: without what belongs to one credential.
   *
   * @throws StatusError OwnerUnusable for one that can own nothing
   */
  ownerOf(identity: Identity): QualifiedIdentity;
  /** The key by which stores find what the user owns: the `ownerKey` of those objects. */
  ownerKeyOf(identity: Identity, tenant: string): string;
  /**
   * The identity with which the owner would sign in now; the same object as long as nothing has changed.
   *
   * @throws StatusError CredentialInvalid with the reason as its cause; KeystoneUnavailable
   */
  current(owner: StoredOwner): Promise<Identity> | Identity;
  /**
   * Until when the owner counts without another sign-in, in milliseconds since the epoch; Infinity for one
   * who is looked up.
   */
  countsUntil(owner: StoredOwner): number;
}

export function createOwners(options: OwnersOptions): Owners {
  const { keystone, isConfigured, usersOf, facts, signInMaxAge, clock } = options;
  const identityOf = memoizeByReference((stored: QualifiedIdentity) =>
    memoizeByReference((user: UserReference) => keystoneIdentity(stored, user)),
  );

  /**
   * Several lines of a file may name the same user: one with the groups that the user had counts before the
   * others.
   */
  const listedUser = memoizeByReference((stored: QualifiedIdentity) => {
    const users = usersOf(stored.authenticator);
    if (users === undefined) return stored;
    const lines = users.map((user) => ({ user, known: qualified(user, facts) }));
    const named = lines.filter(({ known }) => isSameUser(known, stored));
    return (named.find(({ known }) => isDeepStrictEqual(known.groups, stored.groups)) ?? named[0])?.user;
  });

  /** Keystone does not list the groups of a federation. */
  function countsUntil({ identity, signedInAt }: StoredOwner): number {
    const { authenticator, subject, groups } = identity;
    const isLookedUp =
      subject.kind === 'keystone' ? groups.length === 0 : usersOf(authenticator) !== undefined;
    return isLookedUp ? Number.POSITIVE_INFINITY : signedInAt + signInMaxAge;
  }

  function ownedAs(identity: QualifiedIdentity): QualifiedIdentity {
    const { authenticator, subject } = identity;
    if (subject.kind !== 'keystone') {
      if (subject.kind !== 'claim' || !isConfigured(sourceOf(identity)))
        throw unusable(`users of ${authenticator} can own none`);
      return withoutCredential(identity);
    }
    if (keystone === undefined)
      throw unusable(
        "users of Keystone can own none until Stonegate's operator configures authentication.keystone.roleAssignments",
      );
    if (subject.delegation !== undefined)
      throw unusable('an application credential and a trust can own none: sign in as the user');
    if (subject.scopeDomain.id !== subject.userDomain.id)
      throw unusable("it would act in the user's own domain: use a Keystone token of that domain");
    return keystoneIdentity(withoutCredential(identity), {
      id: identity.uid,
      name: subject.userName,
      domain: subject.userDomain,
    });
  }

  return {
    countsUntil,
    ownerOf(identity) {
      const owner = ownedAs(qualified(identity, facts));
      const now = clock.now();
      if (countsUntil({ identity: owner, signedInAt: signInOf(identity, now) }) < now)
        throw unusable('you signed in too long ago: sign in again');
      return owner;
    },
    ownerKeyOf: (identity, tenant) => ownerKey(qualified(identity, facts), tenant),
    current(owner) {
      const { identity } = owner;
      if (identity.subject.kind !== 'keystone' && identity.subject.kind !== 'claim')
        throw unauthorized('the stored owner can own nothing');
      if (!isConfigured(sourceOf(identity)))
        throw unauthorized(`the owner's source ${sourceOf(identity)} is not configured any more`);
      if (countsUntil(owner) < clock.now())
        throw unauthorized(`the owner ${nameOf(identity)} has not signed in for too long`);
      if (identity.subject.kind !== 'keystone') {
        const user = listedUser(identity);
        if (user === undefined)
          throw unauthorized(`the owner ${nameOf(identity)} is in the file of users no more`);
        return user;
      }
      if (keystone === undefined) throw unauthorized('roles of Keystone users are not looked up any more');
      return keystone.enabledUser(identity.uid).then((user) => {
        if (user === undefined || !isUsableName(user.name))
          throw unauthorized(`the owner ${nameOf(identity)} is disabled or deleted in Keystone`);
        return identityOf(identity)(user);
      });
    },
  };
}

/** When the user signed in, in milliseconds since the epoch: now if the credential does not say. */
export function signInOf({ signedInAt = Number.POSITIVE_INFINITY }: Identity, now: number): number {
  return Math.min(signedInAt, now);
}

/**
 * When what the user makes with the credential ends at the latest, in milliseconds since the epoch. Of a user
 * with a certificate, nothing but its end says that they have left.
 */
export function latestEnd({ accessToken, authenticator, expiresAt }: Identity): number {
  return accessToken !== undefined || authenticator === 'x509' ? expiresAt : Number.POSITIVE_INFINITY;
}

/** Where the owner signs in: an issuer, or the name of the authenticator. */
function sourceOf({ authenticator, auditAnnotations }: QualifiedIdentity): string {
  return auditAnnotations[ISSUER] ?? authenticator;
}

/**
 * Equal for the same user of the same tenant. If the issuer gives ids, a later user of the same name has
 * another key; users of a file may share one. A delegated credential has its user's id, and owns nothing of
 * the user's.
 *
 * @param tenant of the user: one source may give the same names, and the same ids, in several
 */
export function ownerKey(identity: QualifiedIdentity, tenant: string): string {
  const { uid, subject, auditAnnotations } = identity;
  const isNamed = subject.kind === 'claim' && (uid === '' || auditAnnotations[ISSUER] === undefined);
  const delegation = subject.kind === 'keystone' ? subject.delegation : undefined;
  return JSON.stringify([tenant, sourceOf(identity), ...(isNamed ? ['', subject.name] : [uid, delegation])]);
}

/** Whether both, as they are stored, name the same user of a file. */
function isSameUser(one: QualifiedIdentity, other: QualifiedIdentity): boolean {
  const factsOf = ({ subject, tenantOrigin, uid }: QualifiedIdentity) => ({ subject, tenantOrigin, uid });
  return isDeepStrictEqual(factsOf(one), factsOf(other));
}

function nameOf({ subject, uid }: QualifiedIdentity): string {
  if (subject.kind === 'keystone') return JSON.stringify(subject.userName);
  return JSON.stringify(subject.kind === 'claim' ? subject.name : uid);
}

function withoutCredential({ scope: _, signedInAt: __, ...identity }: QualifiedIdentity): QualifiedIdentity {
  const { [CREDENTIAL_ID_KEY]: ___, ...extra } = identity.extra;
  const issuer = identity.auditAnnotations[ISSUER];
  return {
    ...identity,
    extra,
    expiresAt: Number.MAX_SAFE_INTEGER,
    auditAnnotations: issuer === undefined ? {} : { [ISSUER]: issuer },
  };
}

/** The user as with an unscoped token: roles are looked up for each request. */
function keystoneIdentity(
  identity: QualifiedIdentity,
  { id, name, domain }: UserReference,
): QualifiedIdentity {
  return {
    ...identity,
    subject: { kind: 'keystone', userName: name, userDomain: domain, scopeDomain: domain },
    tenantOrigin: { from: 'domain', domain },
    groups: identity.groups.filter((group) => group.startsWith('keystone:group:')),
    extra: {
      [KEYSTONE_EXTRA.userDomainID]: [domain.id],
      [KEYSTONE_EXTRA.userDomainName]: [domain.name],
    },
    assignmentsOf: id,
  };
}

function unusable(reason: string): StatusError {
  return new StatusError('OwnerUnusable', `access tokens and invitations need an owner: ${reason}`);
}
