/**
 * Stonegate's own login at Keystone, kept alive: renewed ahead of its end while the old token still serves, and at once
 * when Keystone stops taking it. One login runs at a time. A refused login is not repeated for a while, since Keystone
 * may lock an account after some failures.
 * https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management
 */
import type { KeystoneServiceCredential, SecretSource } from '../api/config-v1alpha1.ts';
import { TOKEN_SPELLING } from '../api/keystone-v3.ts';
import type { Clock } from '../lib/clock.ts';
import { isJSONObject } from '../lib/json-object.ts';
import type { Logger } from '../lib/logger.ts';
import { SingleFlight } from '../lib/single-flight.ts';
import { type KeystoneAnswer, type KeystoneHTTP, keystoneUnavailable } from './keystone-http.ts';
import { readInstant } from './keystone-token.ts';

/** Milliseconds without another try after Keystone has refused a login. */
const REFUSED_PAUSE = 10_000;
/** Milliseconds until the next try to renew a token that still serves. */
const RENEW_PAUSE = 5_000;
/** The part of a token's life that is left when its renewal begins, and the most of it in milliseconds. */
const RENEW_FRACTION = 0.2;
const RENEW_AHEAD = 5 * 60_000;

const REFUSALS: readonly number[] = [401, 403, 404];

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
    const body = await authBody(credential, options.readSecret);
    const answer = await http.exchange({
      method: 'POST',
      path: '/auth/tokens?nocatalog',
      body,
      refusals: REFUSALS,
    });
    if (REFUSALS.includes(answer.status)) {
      pausedUntil = clock.now() + REFUSED_PAUSE;
      logger.error({ status: answer.status }, "Keystone refuses Stonegate's own credential: check it");
      throw keystoneUnavailable(new Error(`Keystone refused the login of Stonegate (${answer.status})`));
    }
    current = ownToken(answer, clock.now());
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

function ownToken(answer: KeystoneAnswer, now: number): OwnToken {
  if (answer.status !== 201)
    throw keystoneUnavailable(new Error(`Keystone answered a login ${answer.status}`));
  if (answer.token === undefined || !TOKEN_SPELLING.test(answer.token)) {
    throw keystoneUnavailable(new Error('Keystone answered a login without a token'));
  }
  let expiresAt: number;
  try {
    expiresAt = readInstant(
      isJSONObject(answer.body.token) ? answer.body.token.expires_at : undefined,
      'expires_at',
    );
  } catch (error) {
    throw keystoneUnavailable(error);
  }
  if (expiresAt <= now)
    throw keystoneUnavailable(new Error('the new login has already expired: check the clocks'));
  const ahead = Math.min(RENEW_AHEAD, (expiresAt - now) * RENEW_FRACTION);
  return { token: answer.token, expiresAt, renewAt: expiresAt - ahead };
}

async function authBody(
  credential: KeystoneServiceCredential,
  readSecret: KeystoneSessionOptions['readSecret'],
): Promise<unknown> {
  if ('applicationCredential' in credential) {
    const { id, secret } = credential.applicationCredential;
    const identity = {
      methods: ['application_credential'],
      application_credential: { id, secret: await secretOf(secret, readSecret) },
    };
    return { auth: { identity } };
  }
  const { userName, userDomainName, password, scope } = credential.password;
  const user = {
    name: userName,
    domain: { name: userDomainName },
    password: await secretOf(password, readSecret),
  };
  return { auth: { identity: { methods: ['password'], password: { user } }, scope: authScope(scope) } };
}

type PasswordScope = Extract<KeystoneServiceCredential, { password: unknown }>['password']['scope'];

function authScope(scope: PasswordScope): unknown {
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
