/**
 * Authenticates by the tokens of a file. They are found by a keyed digest, so that the time of a look-up tells nothing
 * about how far a guess was right.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#static-token-file
 */
import { createHmac } from 'node:crypto';
import type { StaticPassword, StaticToken, StaticUser } from '../api/credentials.ts';
import type { Identity } from '../api/identity.ts';
import { unauthorized } from '../errors/status-error.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { Random } from '../lib/random.ts';
import { SingleFlight } from '../lib/single-flight.ts';
import type { AsyncAuthenticator, Authenticator } from './authenticator.ts';
import type { TokenCredential } from './credential.ts';
import { passwordMatches } from './password.ts';
import type { UnknownCredentialGate } from './ports.ts';

export interface TokenFileOptions {
  /** No two with the same token. */
  readonly entries: readonly StaticToken[];
  readonly random: Random;
}

/** Takes only the tokens it has: every other may be somebody else's. */
export function createTokenFileAuthenticator({ entries, random }: TokenFileOptions): Authenticator {
  const key = random.bytes(32);
  const digest = (token: string) => createHmac('sha256', key).update(token).digest('base64');
  const users = new Map<string, StaticUser>(entries.map(({ token, user }) => [digest(token), user]));
  const identityOf = identityOfStaticUser('token-file');
  /** Once for a credential that comes with every request of a connection. */
  const userOf = memoizeByReference(({ token }: TokenCredential) => users.get(digest(token)));
  return {
    name: 'token-file',
    takes: 'tokens of the token file',
    authenticate(credential) {
      if (credential.kind !== 'bearer') return undefined;
      const user = userOf(credential);
      return user && identityOf(user);
    },
  };
}

/*
 * Authenticates by user name and password of a file. A hash takes a good part of a second by design, so one that was
 * right is remembered, and guesses pass the gate that slows unknown credentials. A name that is not there costs what
 * one that is there costs: the password is held against somebody else's, for each name always the same one's. RFC 7617.
 
 */

export interface BasicAuthFileOptions {
  /** No two with the same login. */
  readonly entries: readonly StaticPassword[];
  /** Lets in `MAX_HASHES` at once, or fewer. */
  readonly gate: UnknownCredentialGate;
  readonly random: Random;
}

/**
 * Half of the threads that Node has for this: looking up the names of Keystone and of the API server waits for the same,
 * and a stranger's guesses must not keep it waiting.
 */
export const MAX_HASHES = 2;

/** The authenticator throws StatusError CredentialInvalid, and CredentialRateExceeded from the gate. */
export function createBasicAuthFileAuthenticator(options: BasicAuthFileOptions): AsyncAuthenticator {
  const { entries, gate, random } = options;
  const key = random.bytes(32);
  const digest = (userName: string, password: string) =>
    createHmac('sha256', key).update(`${userName}:${password}`).digest('base64');
  const users = new Map(entries.map((entry) => [entry.login, entry]));
  /** Hashes differ in what they cost: a guess at a name must not learn from that either. */
  const decoyFor = (userName: string): StaticPassword | undefined =>
    entries[createHmac('sha256', key).update(userName).digest().readUInt32BE() % entries.length];
  /** Bounded by the file: there is one right password for a name. */
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
  };
}

/*
 * Who somebody is that an operator has written into a file. The file is the operator's word: it ends with the next
 * reload that does not have the line any more.
 
 */

/** @returns the same object for the same user, so that what depends on it is made once */
function identityOfStaticUser(authenticator: string): (user: StaticUser) => Identity {
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
