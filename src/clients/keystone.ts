/**
 * Asks Keystone whom a token belongs to: with the token itself, or with a service credential of our own, which needs
 * the role `service` on a project. Always GET, since HEAD is refused to a service; with `nocatalog`, since a catalog
 * is large; never with `allow_expired`, and never with `OpenStack-Identity-Access-Rules`, by which we would promise
 * to enforce such rules. https://docs.openstack.org/api-ref/identity/v3/#validate-and-show-information-for-token
 *
 * Which of Keystone's refusals of a service are believed is `keystone-service.ts`'s business. Where the token asks
 * about itself all of them are about the token.
 */
import type { KeystoneServiceCredential, SecretSource } from '../api/config-v1alpha1.ts';
import { type KeystoneToken, TOKEN_SPELLING } from '../api/keystone-v3.ts';
import type { KeystoneTokenValidator } from '../authentication/ports.ts';
import type { AssignmentSource, KeystoneDirectory } from '../bindings/ports.ts';
import type { Clock } from '../lib/clock.ts';
import { isJSONObject } from '../lib/json-object.ts';
import { type Logger, silentLogger } from '../lib/logger.ts';
import type { Telemetry } from '../lib/telemetry.ts';
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

/** Questions about everybody; longer answers than those about one token. */
const DIRECTORY_ANSWER_BYTES = 128 * 1024 * 1024;
/** Few, so that validations are not held up. */
const DIRECTORY_CONNECTIONS = 8;

export interface KeystoneClient extends KeystoneTokenValidator {
  /** Undefined without a service credential. */
  readonly directory: (KeystoneDirectory & AssignmentSource) | undefined;
  /** Logs no refusal, for whoever asks again and again and says so once; undefined without a service credential. */
  readonly quietService: KeystoneService | undefined;
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

  const service = session && createKeystoneService({ http, session, logger });
  const listing = createKeystoneHTTP({
    ...options,
    maxAnswerBytes: DIRECTORY_ANSWER_BYTES,
    connections: DIRECTORY_CONNECTIONS,
  });
  const directory =
    session &&
    createKeystoneDirectory({ service: createKeystoneService({ http: listing, session, logger }), clock });

  function believe(answer: KeystoneResponse, subject: string): KeystoneToken | undefined {
    const { token, refused } = readAnswer(answer, subject);
    if (refused !== undefined)
      logger.info({ reason: refused }, 'a Keystone token of this kind is not accepted');
    return token !== undefined && token.expiresAt > clock.now() ? token : undefined;
  }

  async function validateByItself(subject: string, signal?: AbortSignal): Promise<KeystoneToken | undefined> {
    const headers = { 'x-auth-token': subject, 'x-subject-token': subject };
    const request = { method: 'GET', path: VALIDATION, headers, refusals: [] } as const;
    const answer = await http.exchange(signal === undefined ? request : { ...request, signal });
    if (answer.status === 200) return believe(answer, subject);
    if (isRefusal(answer, [401, 403, 404])) return undefined;
    throw unexpected(answer.status);
  }

  async function validateAsService(
    { get }: KeystoneService,
    subject: string,
    signal?: AbortSignal,
  ): Promise<KeystoneToken | undefined> {
    const headers = { 'x-subject-token': subject };
    const question = { path: VALIDATION, headers, to: 'validate tokens', needs: 'the role service' };
    const answer = await get(signal === undefined ? question : { ...question, signal });
    return answer && believe(answer, subject);
  }

  return {
    directory,
    quietService: session && createKeystoneService({ http: listing, session, logger: silentLogger }),
    async validate(token, signal) {
      if (!TOKEN_SPELLING.test(token)) return undefined;
      return service ? validateAsService(service, token, signal) : validateByItself(token, signal);
    },
    async probe() {
      const answer = await http.exchange({ method: 'GET', path: '', refusals: [] });
      if (answer.status !== 200 || !isJSONObject(answer.body.version)) throw unexpected(answer.status);
      await session?.token();
    },
    async close() {
      await Promise.all([http.close(), listing.close()]);
    },
  };
}

function readAnswer(answer: KeystoneResponse, subject: string): ReadToken {
  if (answer.token !== undefined && answer.token !== subject) {
    throw keystoneUnavailable(new Error('the answer is about another token'));
  }
  try {
    return readToken(answer.body);
  } catch (error) {
    throw keystoneUnavailable(error);
  }
}
