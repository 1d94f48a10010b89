/**
 * The authenticators for the two files in which an operator lists users: bearer tokens and passwords (RFC
 * 7617). Both look up a keyed digest, so that timing reveals nothing about how much of a guess was right.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#static-token-file
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { compare } from '@node-rs/bcrypt';
import { unauthorized } from '../errors/status-error.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { Random } from '../lib/random.ts';
import { SingleFlight } from '../lib/single-flight.ts';
import type { UnknownCredentialGate } from '../limits/unknown-credential-gate.ts';
import type { Identity, LocalSubject } from '../tenancy/identity.ts';
import type { Authenticator } from './authenticator.ts';
import type { TokenCredential } from './credential.ts';

export interface StaticUser extends Omit<LocalSubject, 'kind'> {
  readonly uid: string;
  readonly tenant: string;
}

export interface StaticToken {
  readonly token: string;
  readonly user: StaticUser;
}

export interface StaticPassword {
  /** The name that the client sends, without the prefix. */
  readonly login: string;
  readonly password: StoredPassword;
  readonly user: StaticUser;
}

export type StoredPassword =
  | { readonly kind: 'plain'; readonly password: string }
  /** The hash contains its salt and cost. */
  | { readonly kind: 'bcrypt'; readonly hash: string };

export interface TokenFileOptions {
  /** No two with the same token. */
  readonly entries: readonly StaticToken[];
  readonly random: Random;
}

/** Decides only on the tokens of the file: every other token may be of another authenticator's kind. */
export function createTokenFileAuthenticator({ entries, random }: TokenFileOptions): Authenticator {
  const key = random.bytes(32);
  const digest = (token: string) => createHmac('sha256', key).update(token).digest('base64');
  const users = new Map<string, StaticUser>(entries.map(({ token, user }) => [digest(token), user]));
  const identityOf = identityOfStaticUser('token-file');
  /** Memoized: a connection sends the same credential object with every request. */
  const userOf = memoizeByReference(({ token }: TokenCredential) => users.get(digest(token)));
  return {
    name: 'token-file',
    takes: 'tokens of the token file',
    authenticate(credential) {
      if (credential.kind !== 'bearer') return undefined;
      const user = userOf(credential);
      return user && identityOf(user);
    },
    users: entries.map(({ user }) => identityOf(user)),
  };
}

export interface BasicAuthFileOptions {
  /** No two with the same login. */
  readonly entries: readonly StaticPassword[];
  /** Admits at most `MAX_HASHES` at once. */
  readonly gate: UnknownCredentialGate;
  readonly random: Random;
}

/**
 * Half of Node's thread pool. DNS look-ups for Keystone and the API server use the same pool, and password
 * guesses must not block them.
 */
export const MAX_HASHES = 2;

/**
 * A password hash takes long by design: a password that was right is memoized, and others pass the gate for
 * unknown credentials. An unknown user name costs the same as a known one, since the password is compared
 * with the hash of another entry.
 *
 * The authenticator throws StatusError CredentialInvalid, and CredentialRateExceeded from the gate.
 */
export function createBasicAuthFileAuthenticator(options: BasicAuthFileOptions): Authenticator {
  const { entries, gate, random } = options;
  const key = random.bytes(32);
  const digest = (userName: string, password: string) =>
    createHmac('sha256', key).update(`${userName}:${password}`).digest('base64');
  const users = new Map(entries.map((entry) => [entry.login, entry]));
  /**
   * Hashes differ in cost. The same unknown name always gets the same entry, so that timing does not reveal
   * which names exist.
   */
  const decoyFor = (userName: string): StaticPassword | undefined =>
    entries[createHmac('sha256', key).update(userName).digest().readUInt32BE() % entries.length];
  /** Bounded by the file: one password for each name. */
  const right = new Map<string, StaticUser>();
  const flight = new SingleFlight<StaticUser | undefined>();
  const identityOf = identityOfStaticUser('basic-auth-file');

  async function check(userName: string, password: string, found: string): Promise<StaticUser | undefined> {
    const entry = users.get(userName);
    const stored = (entry ?? decoyFor(userName))?.password;
    const matches = stored !== undefined && (await passwordMatches(password, stored));
    if (!matches || entry === undefined) return undefined;
    right.set(found, entry.user);
    return entry.user;
  }

  return {
    name: 'basic-auth-file',
    takes: 'names and passwords of the basic-auth file',
    async authenticate(credential, { source }) {
      if (credential.kind !== 'basic') return undefined;
      const { userName, password } = credential;
      const found = digest(userName, password);
      const user =
        right.get(found) ??
        (await flight.do(found, () => gate.enter(source, () => check(userName, password, found))));
      if (user === undefined) throw unauthorized('the password is not the one of the file');
      return identityOf(user);
    },
    users: entries.map(({ user }) => identityOf(user)),
  };
}

/** @returns the same identity object for the same entry, so that what is derived from it is memoized */
function identityOfStaticUser(authenticator: string): (user: StaticUser) => Identity {
  return memoizeByReference(({ uid, tenant, ...user }: StaticUser) => ({
    authenticator,
    subject: { kind: 'local', ...user },
    tenantOrigin: { from: 'issuer', tenant },
    uid,
    extra: {},
    expiresAt: Number.POSITIVE_INFINITY,
    auditAnnotations: {},
  }));
}

/** bcrypt ignores further bytes, so a longer password is refused. */
const BCRYPT_BYTES = 72;
/** Bounds the cost of hashing. */
const MAX_BYTES = 1_024;

/** Compares in constant time. */
async function passwordMatches(given: string, stored: StoredPassword): Promise<boolean> {
  const bytes = Buffer.byteLength(given);
  if (bytes > MAX_BYTES) return false;
  switch (stored.kind) {
    case 'plain':
      return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', stored.password, 'buffer'));
    case 'bcrypt':
      return (await compare(given, stored.hash)) && bytes <= BCRYPT_BYTES;
  }
}
