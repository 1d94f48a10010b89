/**
 * Validates tokens at Keystone, with the token itself or with a service credential that has the role
 * `service` on a project. Never with `allow_expired`, nor with `OpenStack-Identity-Access-Rules`, which
 * would promise to enforce access rules.
 * https://docs.openstack.org/api-ref/identity/v3/#validate-and-show-information-for-token
 */

import type { Clock } from '../../lib/clock.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import { type Logger, silentLogger } from '../../lib/logger.ts';
import type { SecretSource } from '../../lib/schema-files.ts';
import type { Telemetry } from '../../lib/telemetry.ts';
import { type KeystoneToken, TOKEN_SPELLING } from '../../tenancy/keystone-v3.ts';
import type { KeystoneServiceCredential } from '../authentication-configuration.ts';
import type { KeystoneTokenValidator } from '../ports.ts';
import type { AssignmentSource, KeystoneDirectory } from './directory.ts';
import { createKeystoneDirectory } from './keystone-directory.ts';
import { createKeystoneHTTP, type KeystoneResponse, keystoneUnavailable } from './keystone-http.ts';
import { type ReadToken, readToken } from './keystone-response.ts';
import {
  createKeystoneService,
  createKeystoneSession,
  isRefusal,
  type KeystoneService,
  unexpected,
  VALIDATION,
} from './keystone-service.ts';

export interface KeystoneClientOptions {
  /** URL of the identity API, with or without `/v3`. */
  readonly url: string;
  /** PEM; if absent, those that Node trusts. */
  readonly ca?: string;
  /** If absent, each token is validated with itself. */
  readonly credential?: KeystoneServiceCredential;
  /** Reads a secret of `credential`. */
  readonly readSecret: (source: SecretSource) => string | Promise<string>;
  /** Timeout of one request, in milliseconds. */
  readonly timeout: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

/** Limit of a response that lists all objects. */
const DIRECTORY_RESPONSE_BYTES = 128 * 1024 * 1024;
/** Few, so that they do not delay validations. */
const DIRECTORY_CONNECTIONS = 8;

export interface KeystoneClient extends KeystoneTokenValidator {
  /** Undefined without a service credential. */
  readonly directory: (KeystoneDirectory & AssignmentSource) | undefined;
  /** Logs no refusals, for callers that retry and log once; undefined without a service credential. */
  readonly quietService: KeystoneService | undefined;
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

  const service = session && createKeystoneService({ http, session, logger });
  const listing = createKeystoneHTTP({
    ...options,
    maxResponseBytes: DIRECTORY_RESPONSE_BYTES,
    connections: DIRECTORY_CONNECTIONS,
  });
  const directory =
    session &&
    createKeystoneDirectory({ service: createKeystoneService({ http: listing, session, logger }), clock });

  function believe(response: KeystoneResponse, subject: string): KeystoneToken | undefined {
    const { token, refused } = readResponse(response, subject);
    if (refused !== undefined)
      logger.info({ reason: refused }, 'a Keystone token of this kind is not accepted');
    return token !== undefined && token.expiresAt > clock.now() ? token : undefined;
  }

  async function validateByItself(subject: string, signal?: AbortSignal): Promise<KeystoneToken | undefined> {
    const headers = { 'x-auth-token': subject, 'x-subject-token': subject };
    const request = { method: 'GET', path: VALIDATION, headers, refusals: [] } as const;
    const response = await http.exchange(signal === undefined ? request : { ...request, signal });
    if (response.status === 200) return believe(response, subject);
    if (isRefusal(response, [401, 403, 404])) return undefined;
    throw unexpected(response.status);
  }

  async function validateAsService(
    { get }: KeystoneService,
    subject: string,
    signal?: AbortSignal,
  ): Promise<KeystoneToken | undefined> {
    const headers = { 'x-subject-token': subject };
    const question = { path: VALIDATION, headers, to: 'validate tokens', needs: 'the role service' };
    const response = await get(signal === undefined ? question : { ...question, signal });
    return response && believe(response, subject);
  }

  return {
    directory,
    quietService: session && createKeystoneService({ http: listing, session, logger: silentLogger }),
    async validate(token, signal) {
      if (!TOKEN_SPELLING.test(token)) return undefined;
      return service ? validateAsService(service, token, signal) : validateByItself(token, signal);
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

function readResponse(response: KeystoneResponse, subject: string): ReadToken {
  if (response.token !== undefined && response.token !== subject) {
    throw keystoneUnavailable(new Error('the answer is about another token'));
  }
  return readToken(response.body);
}
