/**
 * Sends requests to Keystone as Stonegate's own user, and interprets refusals. A 404 may mean that
 * Stonegate's user or its project is disabled, so its own token is checked before a 404 is believed;
 * otherwise one disabled service project would log out all users. A 401 causes one new login; a 403 (role
 * missing) is logged once.
 * https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management
 */

import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { SingleFlight } from '../../lib/single-flight.ts';
import type { KeystoneServiceCredential } from '../authentication-configuration.ts';
import { isRefusal, type KeystoneHTTP, type KeystoneResponse, keystoneUnavailable } from './keystone-http.ts';
import {
  type IssuedToken,
  type KeystoneAuthMethod,
  type KeystoneLoginScope,
  logIn,
  TOKENS,
} from './keystone-login.ts';

export interface KeystoneServiceOptions {
  readonly http: KeystoneHTTP;
  readonly session: KeystoneSession;
  readonly logger: Logger;
}

export interface KeystoneServiceRequest {
  /** The path below `/v3`, with query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Says in the log what Keystone has refused: the action (`validate tokens`) and the required role. */
  readonly to: string;
  readonly needs: string;
  /** Timeout in milliseconds, if it differs from the client's. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

export interface KeystoneService {
  /**
   * @returns the response of status 200; undefined if there is no such object
   * @throws StatusError KeystoneUnavailable
   */
  get(question: KeystoneServiceRequest): Promise<KeystoneResponse | undefined>;
}

export function createKeystoneService({ http, session, logger }: KeystoneServiceOptions): KeystoneService {
  /** A 404 of the milliseconds in which Stonegate's user is disabled may share a check that began before. */
  const checks = new SingleFlight<boolean>();
  const isValid = async (own: string): Promise<boolean> => {
    const headers = { 'x-auth-token': own, 'x-subject-token': own };
    const response = await http.exchange({ method: 'GET', path: TOKENS, headers, refusals: [401, 404] });
    if (response.status === 200) return true;
    if (isRefusal(response, [401, 404])) return false;
    throw unexpected(response.status);
  };

  /** Refused actions that have been logged. */
  const logged = new Set<string>();

  return {
    async get({ to, needs, headers, ...question }) {
      for (const last of [false, true]) {
        const own = await session.token();
        const response = await http.exchange({
          ...question,
          method: 'GET',
          headers: { ...headers, 'x-auth-token': own },
          refusals: [401, 403],
        });
        if (response.status === 200) {
          logged.delete(to);
          return response;
        }
        if (response.status === 403) {
          const message = `Keystone does not let Stonegate ${to}: its user needs ${needs}`;
          if (!logged.has(to)) logger.error({}, message);
          logged.add(to);
          throw keystoneUnavailable(message);
        }
        if (!isRefusal(response, [401, 404])) throw unexpected(response.status);
        if (response.status === 404 && (await checks.do(own, () => isValid(own)))) return undefined;
        session.discard(own);
        if (last)
          logger.error({ status: response.status }, "Keystone does not take Stonegate's own new login");
      }
      throw keystoneUnavailable('Keystone refuses the login of Stonegate');
    },
  };
}

export function unexpected(status: number) {
  return keystoneUnavailable(`Keystone answered ${status}`);
}

/**
 * Milliseconds without another login after a refused one: Keystone may lock an account after some failures.
 */
const REFUSED_PAUSE = 10_000;
/** Milliseconds until the next attempt to renew a token that is still valid. */
const RENEW_PAUSE = 5_000;
/** The remaining fraction of a token's lifetime at which renewal starts, and its maximum in milliseconds. */
const RENEW_FRACTION = 0.2;
const RENEW_AHEAD = 5 * 60_000;

export interface KeystoneSessionOptions {
  readonly http: KeystoneHTTP;
  readonly credential: KeystoneServiceCredential;
  /** The secret of the application credential, or the password. */
  readonly secret: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface KeystoneSession {
  /**
   * Stonegate's own token. It is renewed in the background ahead of its expiry; one login runs at a time.
   *
   * @throws StatusError KeystoneUnavailable if no login succeeds
   */
  token(): Promise<string>;
  /** Drops a token that Keystone no longer accepts. */
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
    if (clock.now() < pausedUntil) throw keystoneUnavailable('the last login was refused');
    const { proof, scope } = ownProof(credential, options.secret);
    const { issued, refused } = await logIn(http, proof, scope, clock.now());
    if (refused !== undefined) {
      pausedUntil = clock.now() + REFUSED_PAUSE;
      logger.error({ status: refused }, "Keystone refuses Stonegate's own credential: check it");
      throw keystoneUnavailable(`Keystone refused the login of Stonegate (${refused})`);
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

function ownProof(
  credential: KeystoneServiceCredential,
  secret: string,
): { proof: KeystoneAuthMethod; scope?: KeystoneLoginScope } {
  if ('applicationCredential' in credential) {
    const { id } = credential.applicationCredential;
    return { proof: { method: 'application_credential', credential: { id }, secret } };
  }
  const { userName, userDomainName, scope } = credential.password;
  const user = { name: userName, domain: { name: userDomainName } };
  return { proof: { method: 'password', user, password: secret }, scope: loginScope(scope) };
}

type PasswordScope = Extract<KeystoneServiceCredential, { password: unknown }>['password']['scope'];

function loginScope(scope: PasswordScope): KeystoneLoginScope {
  if ('system' in scope) return { system: { all: true } };
  if ('domainName' in scope) return { domain: { name: scope.domainName } };
  return { project: { name: scope.projectName, domain: { name: scope.projectDomainName } } };
}
