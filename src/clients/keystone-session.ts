/**
 * Stonegate's own login at Keystone, kept alive: renewed ahead of its end while the old token still serves, and at once
 * when Keystone stops taking it. One login runs at a time. A refused login is not repeated for a while, since Keystone
 * may lock an account after some failures.
 * https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management
 */
import type { KeystoneServiceCredential, SecretSource } from '../api/config-v1alpha1.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { SingleFlight } from '../lib/single-flight.ts';
import { type KeystoneHTTP, keystoneUnavailable } from './keystone-http.ts';
import { type IssuedToken, type KeystoneLoginScope, type KeystoneProof, logIn } from './keystone-login.ts';

/** Milliseconds without another try after Keystone has refused a login. */
const REFUSED_PAUSE = 10_000;
/** Milliseconds until the next try to renew a token that still serves. */
const RENEW_PAUSE = 5_000;
/** The part of a token's life that is left when its renewal begins, and the most of it in milliseconds. */
const RENEW_FRACTION = 0.2;
const RENEW_AHEAD = 5 * 60_000;

export interface KeystoneSessionOptions {
  readonly http: KeystoneHTTP;
  readonly credential: KeystoneServiceCredential;
  /** Reads the secret anew for each login, so that a rotated one is taken up. */
  readonly readSecret: (source: SecretSource) => string | Promise<string>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface KeystoneSession {
  /**
   * A token of our own that has not run out.
   *
   * @throws StatusError KeystoneUnavailable where no login succeeds
   */
  token(): Promise<string>;
  /** Forgets a token that Keystone no longer takes. */
  discard(token: string): void;
}

interface OwnToken {
  readonly token: string;
  readonly expiresAt: number;
  readonly renewAt: number;
}

export function createKeystoneSession(options: KeystoneSessionOptions): KeystoneSession {
  const { http, credential, clock, logger } = options;
  const logins = new SingleFlight<OwnToken>();
  let current: OwnToken | undefined;
  let pausedUntil = 0;

  async function login(): Promise<OwnToken> {
    if (clock.now() < pausedUntil) throw keystoneUnavailable(new Error('the last login was refused'));
    const { proof, scope } = await ownProof(credential, options.readSecret);
    const { issued, refused } = await logIn(http, proof, scope, clock.now());
    if (refused !== undefined) {
      pausedUntil = clock.now() + REFUSED_PAUSE;
      logger.error({ status: refused }, "Keystone refuses Stonegate's own credential: check it");
      throw keystoneUnavailable(new Error(`Keystone refused the login of Stonegate (${refused})`));
    }
    current = renewedAhead(issued, clock.now());
    return current;
  }

  function renew(): Promise<OwnToken> {
    return logins.do('login', login);
  }

  return {
    async token() {
      const now = clock.now();
      if (current === undefined || now >= current.expiresAt) return (await renew()).token;
      const serving = current;
      if (now >= serving.renewAt) {
        current = { ...serving, renewAt: now + RENEW_PAUSE };
        renew().catch((error: unknown) => {
          logger.warn({ error }, 'the Keystone login of Stonegate could not be renewed yet');
        });
      }
      return serving.token;
    },
    discard(token) {
      if (current?.token === token) current = undefined;
    },
  };
}

function renewedAhead({ token, expiresAt }: IssuedToken, now: number): OwnToken {
  const ahead = Math.min(RENEW_AHEAD, (expiresAt - now) * RENEW_FRACTION);
  return { token, expiresAt, renewAt: expiresAt - ahead };
}

async function ownProof(
  credential: KeystoneServiceCredential,
  readSecret: KeystoneSessionOptions['readSecret'],
): Promise<{ proof: KeystoneProof; scope?: KeystoneLoginScope }> {
  if ('applicationCredential' in credential) {
    const { id, secret } = credential.applicationCredential;
    const read = await secretOf(secret, readSecret);
    return { proof: { method: 'application_credential', credential: { id }, secret: read } };
  }
  const { userName, userDomainName, password, scope } = credential.password;
  const user = { name: userName, domain: { name: userDomainName } };
  const read = await secretOf(password, readSecret);
  return { proof: { method: 'password', user, password: read }, scope: loginScope(scope) };
}

type PasswordScope = Extract<KeystoneServiceCredential, { password: unknown }>['password']['scope'];

function loginScope(scope: PasswordScope): KeystoneLoginScope {
  if ('system' in scope) return { system: { all: true } };
  if ('domainName' in scope) return { domain: { name: scope.domainName } };
  return { project: { name: scope.projectName, domain: { name: scope.projectDomainName } } };
}

async function secretOf(
  source: SecretSource,
  readSecret: KeystoneSessionOptions['readSecret'],
): Promise<string> {
  try {
    return await readSecret(source);
  } catch (error) {
    throw keystoneUnavailable(error);
  }
}
