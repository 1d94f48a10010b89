/**
 * Authenticates by user name and password of a file. A hash takes a good part of a second by design, so one that was
 * right is remembered, and guesses pass the gate that slows unknown credentials. A name that is not there costs what
 * one that is there costs: the password is held against somebody else's, for each name always the same one's. RFC 7617.
 */
import { createHmac } from 'node:crypto';
import type { StaticPassword, StaticUser } from '../api/credentials.ts';
import { unauthorized } from '../errors/status-error.ts';
import type { Random } from '../lib/random.ts';
import { SingleFlight } from '../lib/single-flight.ts';
import type { AsyncAuthenticator } from './authenticator.ts';
import { passwordMatches } from './password.ts';
import { identityOfStaticUser } from './static-identity.ts';
import type { UnknownCredentialGate } from './unknown-credential-gate.ts';

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
