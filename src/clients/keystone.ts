/**
 * Asks Keystone whom a token belongs to: with the token itself, or with a service credential of our own, which needs
 * the role `service` on a project. Always GET, since HEAD is refused to a service; with `nocatalog`, since a catalog
 * is large; never with `allow_expired`, and never with `OpenStack-Identity-Access-Rules`, by which we would promise
 * to enforce such rules. https://docs.openstack.org/api-ref/identity/v3/#validate-and-show-information-for-token
 *
 * Keystone's refusals are ambiguous. A 404 says that the token is bad, or that our own user is gone or its project
 * disabled: believed unchecked, one disabled service project would log everybody out. So our own token is
 * checked before a 404 is believed. A 401 is about our own token: log in again, ask again, once. A 403 says that our
 * user lost its role. Where the token asks about itself all three are about the token.
 */
import type { KeystoneServiceCredential, SecretSource } from '../api/config-v1alpha1.ts';
import { type KeystoneToken, TOKEN_SPELLING } from '../api/keystone-v3.ts';
import type { KeystoneIdentity } from '../authentication/keystone-identity.ts';
import type { Clock } from '../lib/clock.ts';
import { isJSONObject } from '../lib/json-object.ts';
import type { Logger } from '../lib/logger.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import { createKeystoneHTTP, type KeystoneAnswer, keystoneUnavailable } from './keystone-http.ts';
import { createLivenessCheck } from './keystone-liveness.ts';
import { createKeystoneSession, type KeystoneSession } from './keystone-session.ts';
import { type ReadToken, readToken } from './keystone-token.ts';

export interface KeystoneClientOptions {
  /** Of the identity API, with or without its `/v3`. */
  readonly url: string;
  /** PEM; without it the system's authorities are believed. */
  readonly ca?: string;
  /** Without it each token is validated with itself. */
  readonly credential?: KeystoneServiceCredential;
  /** Reads a secret of `credential`. */
  readonly readSecret: (source: SecretSource) => string | Promise<string>;
  /** For one exchange, in milliseconds. */
  readonly timeout: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export interface KeystoneClient extends KeystoneIdentity {
  /**
   * Whether Keystone answers and, with a service credential, takes it.
   *
   * @throws StatusError KeystoneUnavailable
   */
  probe(): Promise<void>;
  close(): Promise<void>;
}

export function createKeystoneClient(options: KeystoneClientOptions): KeystoneClient {
  const { clock, logger } = options;
  const http = createKeystoneHTTP(options);
  const session =
    options.credential && createKeystoneSession({ ...options, credential: options.credential, http });

  function ask(caller: string, subject: string, refusals: readonly number[], signal?: AbortSignal) {
    const headers = { 'x-auth-token': caller, 'x-subject-token': subject };
    const request = { method: 'GET', path: '/auth/tokens?nocatalog', headers, refusals } as const;
    return http.exchange(signal === undefined ? request : { ...request, signal });
  }

  const alive = createLivenessCheck(async (own: string) => {
    const answer = await ask(own, own, [401, 404]);
    if (answer.status === 200) return true;
    if (isRefusal(answer, [401, 404])) return false;
    throw unexpected(answer.status);
  });

  function believe(answer: KeystoneAnswer, subject: string): KeystoneToken | undefined {
    const { token, refused } = readAnswer(answer, subject);
    if (refused !== undefined)
      logger.info({ reason: refused }, 'a Keystone token of this kind is not accepted');
    return token !== undefined && token.expiresAt > clock.now() ? token : undefined;
  }

  async function validateByItself(subject: string, signal?: AbortSignal): Promise<KeystoneToken | undefined> {
    const answer = await ask(subject, subject, [], signal);
    if (answer.status === 200) return believe(answer, subject);
    if (isRefusal(answer, [401, 403, 404])) return undefined;
    throw unexpected(answer.status);
  }

  async function validateAsService(
    service: KeystoneSession,
    subject: string,
    signal?: AbortSignal,
  ): Promise<KeystoneToken | undefined> {
    for (const last of [false, true]) {
      const own = await service.token();
      const answer = await ask(own, subject, [401, 403], signal);
      if (answer.status === 200) return believe(answer, subject);
      if (answer.status === 403) {
        logger.error({}, 'Keystone does not let Stonegate validate tokens: its user needs the role service');
        throw unexpected(403);
      }
      if (!isRefusal(answer, [401, 404])) throw unexpected(answer.status);
      if (answer.status === 404 && (await alive(own))) return undefined;
      service.discard(own);
      if (last) logger.error({ status: answer.status }, "Keystone does not take Stonegate's own new login");
    }
    throw keystoneUnavailable(new Error('Keystone takes no login of Stonegate'));
  }

  return {
    async validate(token, signal) {
      if (!TOKEN_SPELLING.test(token)) return undefined;
      return session ? validateAsService(session, token, signal) : validateByItself(token, signal);
    },
    async probe() {
      const answer = await http.exchange({ method: 'GET', path: '', refusals: [] });
      if (answer.status !== 200 || !isJSONObject(answer.body.version)) throw unexpected(answer.status);
      await session?.token();
    },
    close: () => http.close(),
  };
}

/** A front end's or a wrong URL's 404 is not Keystone's: only Keystone's own shape speaks of a token. */
function isRefusal(answer: KeystoneAnswer, statuses: readonly number[]): boolean {
  const { error } = answer.body;
  return statuses.includes(answer.status) && isJSONObject(error) && error.code === answer.status;
}

function readAnswer(answer: KeystoneAnswer, subject: string): ReadToken {
  if (answer.token !== undefined && answer.token !== subject) {
    throw keystoneUnavailable(new Error('the answer is about another token'));
  }
  try {
    return readToken(answer.body);
  } catch (error) {
    throw keystoneUnavailable(error);
  }
}

function unexpected(status: number) {
  return keystoneUnavailable(new Error(`Keystone answered ${status}`));
}
