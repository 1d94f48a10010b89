/**
 * Asks Keystone as Stonegate itself, and knows which refusals to believe, for they are ambiguous. A 404 says that there
 * is no such thing, or that our own user is gone or its project disabled: believed unchecked, one disabled service
 * project would log everybody out. So our own token is checked before a 404 is believed. A 401 is about our own
 * token: log in again, ask again, once. A 403 says that our user lost its role: told once, and not with each request,
 * until it has the role again.
 * https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management
 */

import type { KeystoneServiceCredential, SecretSource } from '../api/config-v1alpha1.ts';
import type { Clock } from '../lib/clock.ts';
import { isJSONObject } from '../lib/json-object.ts';
import type { Logger } from '../lib/logger.ts';
import { SingleFlight } from '../lib/single-flight.ts';
import { type KeystoneHTTP, type KeystoneResponse, keystoneUnavailable } from './keystone-http.ts';
import {
  type IssuedToken,
  type KeystoneAuthMethod,
  type KeystoneLoginScope,
  logIn,
} from './keystone-login.ts';

/** A catalog is large, and says nothing about who somebody is. */
export const VALIDATION = '/auth/tokens?nocatalog';

export interface KeystoneServiceOptions {
  readonly http: KeystoneHTTP;
  readonly session: KeystoneSession;
  readonly logger: Logger;
}

export interface KeystoneServiceRequest {
  /** Below `/v3`, with query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What is asked for, and by which role, for whoever reads that it was refused: `validate tokens`. */
  readonly to: string;
  readonly needs: string;
  /** In milliseconds, where the usual time does not suffice. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

export interface KeystoneService {
  /**
   * @returns the answer of status 200; undefined where there is no such thing
   * @throws StatusError KeystoneUnavailable
   */
  get(question: KeystoneServiceRequest): Promise<KeystoneResponse | undefined>;
}

export function createKeystoneService({ http, session, logger }: KeystoneServiceOptions): KeystoneService {
  const alive = createLivenessCheck(async (own: string) => {
    const headers = { 'x-auth-token': own, 'x-subject-token': own };
    const answer = await http.exchange({ method: 'GET', path: VALIDATION, headers, refusals: [401, 404] });
    if (answer.status === 200) return true;
    if (isRefusal(answer, [401, 404])) return false;
    throw unexpected(answer.status);
  });

  /** What our user may not do, as far as has been told. */
  const told = new Set<string>();

  return {
    async get({ to, needs, headers, ...question }) {
      for (const last of [false, true]) {
        const own = await session.token();
        const answer = await http.exchange({
          ...question,
          method: 'GET',
          headers: { ...headers, 'x-auth-token': own },
          refusals: [401, 403],
        });
        if (answer.status === 200) {
          told.delete(to);
          return answer;
        }
        if (answer.status === 403) {
          const message = `Keystone does not let Stonegate ${to}: its user needs ${needs}`;
          if (!told.has(to)) logger.error({}, message);
          told.add(to);
          throw keystoneUnavailable(new Error(message));
        }
        if (!isRefusal(answer, [401, 404])) throw unexpected(answer.status);
        if (answer.status === 404 && (await alive(own))) return undefined;
        session.discard(own);
        if (last) logger.error({ status: answer.status }, "Keystone does not take Stonegate's own new login");
      }
      throw keystoneUnavailable(new Error('Keystone takes no login of Stonegate'));
    },
  };
}

/** A front end's or a wrong URL's 404 is not Keystone's: only Keystone's own shape speaks of what was asked. */
export function isRefusal(answer: KeystoneResponse, statuses: readonly number[]): boolean {
  const { error } = answer.body;
  return statuses.includes(answer.status) && isJSONObject(error) && error.code === answer.status;
}

export function unexpected(status: number) {
  return keystoneUnavailable(new Error(`Keystone answered ${status}`));
}

/*
 * Checks whether a token is alive, many askers sharing one check, but never one that had begun before they asked: its
 * answer may be older than what made them ask. So at most one check runs and one waits, whatever the flood.
 
 */

/** @param check asks Keystone about the token */
export function createLivenessCheck(
  check: (token: string) => Promise<boolean>,
): (token: string) => Promise<boolean> {
  const running = new Map<string, Promise<boolean>>();
  const waiting = new Map<string, Promise<boolean>>();

  function start(token: string): Promise<boolean> {
    const started = check(token).finally(() => running.delete(token));
    running.set(token, started);
    return started;
  }

  return (token) => {
    const next = waiting.get(token);
    if (next) return next;
    const before = running.get(token);
    if (!before) return start(token);
    const after = () => {
      waiting.delete(token);
      return start(token);
    };
    const queued = before.then(after, after);
    waiting.set(token, queued);
    return queued;
  };
}

/*
 * Stonegate's own login at Keystone, kept alive: renewed ahead of its end while the old token still serves, and at once
 * when Keystone stops taking it. One login runs at a time. A refused login is not repeated for a while, since Keystone
 * may lock an account after some failures.
 * https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management
 
 */

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
): Promise<{ proof: KeystoneAuthMethod; scope?: KeystoneLoginScope }> {
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
