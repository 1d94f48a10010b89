/**
 * Validates tokens at Keystone, with the token itself or with a service credential that has the role
 * `service` on a project. Never with `allow_expired`, nor with `OpenStack-Identity-Access-Rules`, which
 * would promise to enforce access rules.
 * https://docs.openstack.org/api-ref/identity/v3/#validate-and-show-information-for-token
 */

import { isJSONObject } from '../../lib/json-object.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { type KeystoneToken, TOKEN_SPELLING } from '../../tenancy/keystone-v3.ts';
import type { KeystoneServiceCredential } from '../authentication-configuration.ts';
import {
  type AssignmentSource,
  createKeystoneDirectory,
  type KeystoneDirectory,
} from './keystone-directory.ts';
import {
  createKeystoneHTTP,
  isRefusal,
  type KeystoneResponse,
  keystoneUnavailable,
} from './keystone-http.ts';
import { TOKENS } from './keystone-login.ts';
import { readToken } from './keystone-response.ts';
import {
  createKeystoneService,
  createKeystoneSession,
  type KeystoneService,
  unexpected,
} from './keystone-service.ts';

export interface KeystoneClientOptions extends Pick<Runtime, 'clock' | 'logger' | 'telemetry'> {
  /** URL of the identity API, with or without `/v3`. */
  readonly url: string;
  /** PEM; if absent, those that Node trusts. */
  readonly ca?: string;
  /** If absent, each token is validated with itself. */
  readonly credential?: KeystoneServiceCredential;
  /** The secret of `credential`; empty without one. */
  readonly secret: string;
  /** Timeout of one request, in milliseconds. */
  readonly timeout: number;
}

/** Limit of a response that lists all objects. */
const DIRECTORY_RESPONSE_BYTES = 128 * 1024 * 1024;
/** Few, so that they do not delay validations. */
const DIRECTORY_CONNECTIONS = 8;

export interface KeystoneClient {
  /**
   * `GET /v3/auth/tokens`.
   *
   * @returns undefined if Keystone does not know the token (any more)
   * @throws StatusError KeystoneUnavailable if Keystone cannot be reached or its response cannot be used
   */
  validate(token: string): Promise<KeystoneToken | undefined>;
  /**
   * Stonegate's own token, with its roles.
   *
   * @returns undefined without a service credential
   * @throws StatusError KeystoneUnavailable
   */
  ownToken(): Promise<KeystoneToken | undefined>;
  /** Undefined without a service credential. */
  readonly directory: (KeystoneDirectory & AssignmentSource) | undefined;
  /** Used for lists; undefined without a service credential. */
  readonly service: KeystoneService | undefined;
  /**
   * Checks that Keystone responds and, with a service credential, accepts it.
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

  const validations = session && createKeystoneService({ http, session, logger });
  const listing = createKeystoneHTTP({
    ...options,
    maxResponseBytes: DIRECTORY_RESPONSE_BYTES,
    connections: DIRECTORY_CONNECTIONS,
  });
  const service = session && createKeystoneService({ http: listing, session, logger });

  /** @returns undefined for a token that is not accepted */
  function tokenIn(response: KeystoneResponse, subject: string): KeystoneToken | undefined {
    if (response.token !== undefined && response.token !== subject)
      throw keystoneUnavailable('the response describes another token');
    const { token, refused } = readToken(response.body);
    if (refused !== undefined)
      logger.info({ reason: refused }, 'a Keystone token of this kind is not accepted');
    return token !== undefined && token.expiresAt > clock.now() ? token : undefined;
  }

  async function validateByItself(subject: string): Promise<KeystoneToken | undefined> {
    const headers = { 'x-auth-token': subject, 'x-subject-token': subject };
    const response = await http.exchange({ method: 'GET', path: TOKENS, headers, refusals: [] });
    if (response.status === 200) return tokenIn(response, subject);
    if (isRefusal(response, [401, 403, 404])) return undefined;
    throw unexpected(response.status);
  }

  async function validateAsService(
    { get }: KeystoneService,
    subject: string,
  ): Promise<KeystoneToken | undefined> {
    const headers = { 'x-subject-token': subject };
    const response = await get({
      path: TOKENS,
      headers,
      to: 'validate tokens',
      needs: 'the role service',
    });
    return response && tokenIn(response, subject);
  }

  return {
    directory: service && createKeystoneDirectory({ service, clock }),
    service,
    async validate(token) {
      if (!TOKEN_SPELLING.test(token)) return undefined;
      return validations ? validateAsService(validations, token) : validateByItself(token);
    },
    async ownToken() {
      return session && validations && validateAsService(validations, await session.token());
    },
    async probe() {
      const response = await http.exchange({ method: 'GET', path: '', refusals: [] });
      if (response.status !== 200 || !isJSONObject(response.body.version)) throw unexpected(response.status);
      await session?.token();
    },
    async close() {
      await Promise.all([http.close(), listing.close()]);
    },
  };
}
