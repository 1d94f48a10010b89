/**
 * Asks Keystone as Stonegate itself, and knows which refusals to believe, for they are ambiguous. A 404 says that there
 * is no such thing, or that our own user is gone or its project disabled: believed unchecked, one disabled service
 * project would log everybody out. So our own token is checked before a 404 is believed. A 401 is about our own
 * token: log in again, ask again, once. A 403 says that our user lost its role: told once, and not with each request,
 * until it has the role again.
 * https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management
 */
import { isJSONObject } from '../lib/json-object.ts';
import type { Logger } from '../lib/logger.ts';
import { type KeystoneAnswer, type KeystoneHTTP, keystoneUnavailable } from './keystone-http.ts';
import { createLivenessCheck } from './keystone-liveness.ts';
import type { KeystoneSession } from './keystone-session.ts';

/** A catalog is large, and says nothing about who somebody is. */
export const VALIDATION = '/auth/tokens?nocatalog';

export interface KeystoneServiceOptions {
  readonly http: KeystoneHTTP;
  readonly session: KeystoneSession;
  readonly logger: Logger;
}

export interface KeystoneQuestion {
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
  get(question: KeystoneQuestion): Promise<KeystoneAnswer | undefined>;
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
export function isRefusal(answer: KeystoneAnswer, statuses: readonly number[]): boolean {
  const { error } = answer.body;
  return statuses.includes(answer.status) && isJSONObject(error) && error.code === answer.status;
}

export function unexpected(status: number) {
  return keystoneUnavailable(new Error(`Keystone answered ${status}`));
}
