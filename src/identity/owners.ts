/**
 * Owners: users in whose name an access token or an invitation acts while they are not there. The object has
 * the owner's identity of that time. What the owner is now is found at each use: users of Keystone are looked
 * up, and all others are known from their last sign-in.
 */
import { StatusError, unauthorized } from '../errors/status-error.ts';
import { CREDENTIAL_ID_KEY } from '../kubernetes/reserved-names.ts';
import type { Clock } from '../lib/clock.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { Identity } from '../tenancy/identity.ts';
import { isUsableName, KEYSTONE_EXTRA } from '../tenancy/keystone-groups.ts';
import type { UserReference } from '../tenancy/keystone-v3.ts';

export interface StoredOwner {
  readonly identity: Identity;
  /** When the owner last showed a credential, in milliseconds since the epoch. */
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
  ownerOf(identity: Identity): Identity;
  /**
   * The identity with which the owner would sign in now; the same object as long as nothing has changed.
   *
   * @throws StatusError CredentialInvalid with the reason as its cause; KeystoneUnavailable
   */
  current(owner: StoredOwner): Promise<Identity> | Identity;
}

export function createOwners({ keystone, isConfigured, signInMaxAge, clock }: OwnersOptions): Owners {
  const identityOf = memoizeByReference((stored: Identity) =>
    memoizeByReference((user: UserReference) => keystoneIdentity(stored, user)),
  );

  function assertRecent({ identity, signedInAt }: StoredOwner): void {
    if (clock.now() - signedInAt > signInMaxAge)
      throw unauthorized(`the owner ${nameOf(identity)} has not signed in for too long`);
  }

  return {
    ownerOf(identity) {
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
    },
    current(owner) {
      const { identity } = owner;
      if (identity.subject.kind !== 'keystone' && identity.subject.kind !== 'claim')
        throw unauthorized('the stored owner can own nothing');
      if (!isConfigured(sourceOf(identity)))
        throw unauthorized(`the owner's source ${sourceOf(identity)} is not configured any more`);
      if (isKnownFromSignIn(identity)) assertRecent(owner);
      if (identity.subject.kind !== 'keystone') return identity;
      if (keystone === undefined) throw unauthorized('roles of Keystone users are not looked up any more');
      return keystone.enabledUser(identity.uid).then((user) => {
        if (user === undefined || !isUsableName(user.name))
          throw unauthorized(`the owner ${nameOf(identity)} is disabled or deleted in Keystone`);
        return identityOf(identity)(user);
      });
    },
  };
}

/** Whether the owner's groups are those of the last sign-in: Keystone does not list those of a federation. */
export function isKnownFromSignIn({ subject, groups }: Identity): boolean {
  return subject.kind !== 'keystone' || groups.length > 0;
}

/** Where the owner signs in: an issuer, or the name of the authenticator. */
function sourceOf({ authenticator, auditAnnotations }: Identity): string {
  return auditAnnotations[ISSUER] ?? authenticator;
}

/**
 * Equal for the same user. If the issuer gives ids, a later user of the same name has another key; users of a
 * file may share one. A delegated credential has its user's id, and owns nothing of the user's.
 */
export function ownerKey(identity: Identity): string {
  const { uid, subject, auditAnnotations } = identity;
  const isNamed = subject.kind === 'claim' && (uid === '' || auditAnnotations[ISSUER] === undefined);
  const delegation = subject.kind === 'keystone' ? subject.delegation : undefined;
  return JSON.stringify([sourceOf(identity), ...(isNamed ? ['', subject.name] : [uid, delegation])]);
}

function nameOf({ subject, uid }: Identity): string {
  if (subject.kind === 'keystone') return JSON.stringify(subject.userName);
  return JSON.stringify(subject.kind === 'claim' ? subject.name : uid);
}

function withoutCredential({ accessToken: _, scope: __, ...identity }: Identity): Identity {
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
function keystoneIdentity(identity: Identity, { id, name, domain }: UserReference): Identity {
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
