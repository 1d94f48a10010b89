/**
 * Reads lists and single objects of Keystone with Stonegate's own credential, which needs `reader` on the
 * system. A truncated or invalid list is refused as a whole, since rights and limits of missing entries would
 * be removed.
 * https://docs.openstack.org/api-ref/identity/v3/#pagination
 */
import { z } from 'zod';
import type { JSONObject } from '../../lib/json-object.ts';
import { keystoneUnavailable } from './keystone-http.ts';
import { readAs } from './keystone-response.ts';
import type { KeystoneService } from './keystone-service.ts';

/** Timeout of a complete list, in milliseconds; no request waits for one. */
export const LIST_TIMEOUT = 60_000;
const MAX_PAGES = 1_000;
const READER = 'the role reader on the system, and a login to the system';

/**
 * Every function throws StatusError KeystoneUnavailable. A path is below `/v3`, `key` is the member of the
 * body that holds the result, and `timeout` is in milliseconds, if it differs from the client's.
 */
export interface KeystoneLists {
  /** @returns undefined if there is no such object */
  find<T>(path: string, key: string, schema: z.ZodType<T>, timeout?: number): Promise<T[] | undefined>;
  all<T>(path: string, key: string, schema: z.ZodType<T>, timeout?: number): Promise<T[]>;
  /** @returns undefined if there is no such object */
  one<T>(path: string, key: string, schema: z.ZodType<T>): Promise<T | undefined>;
}

export function createKeystoneLists(service: KeystoneService): KeystoneLists {
  async function find<T>(
    path: string,
    key: string,
    schema: z.ZodType<T>,
    timeout?: number,
  ): Promise<T[] | undefined> {
    const found: T[] = [];
    const asked = new Set<string>();
    for (let next: string | undefined = path; next !== undefined; ) {
      if (asked.size === MAX_PAGES || asked.has(next)) throw keystoneUnavailable(`${key} has no end`);
      asked.add(next);
      const response = await service.get({
        path: next,
        to: `list ${key}`,
        needs: READER,
        ...(timeout !== undefined && { timeout }),
      });
      if (response === undefined) return undefined;
      for (const member of readAs(z.array(schema), response.body[key], key)) found.push(member);
      next = nextPage(response.body, path, key);
    }
    return found;
  }

  return {
    find,
    async all(path, key, schema, timeout) {
      const found = await find(path, key, schema, timeout);
      if (found === undefined) throw keystoneUnavailable(`Keystone knows no ${key}`);
      return found;
    },
    async one(path, key, schema) {
      const response = await service.get({ path, to: `read ${path.split('/')[1]}`, needs: READER });
      return response && readAs(schema, response.body[key], key);
    },
  };
}

const linksSchema = z.object({ next: z.unknown().optional() });

/**
 * @returns the path of the next page; undefined after the last
 * @throws StatusError KeystoneUnavailable for an incomplete page
 */
function nextPage(body: JSONObject, path: string, key: string): string | undefined {
  const { next } = readAs(linksSchema, body.links ?? {}, 'links');
  if (typeof next === 'string') return samePlace(path, next);
  if (body.truncated === true)
    throw keystoneUnavailable(`Keystone has cut ${key} short: raise its list_limit`);
  return undefined;
}

/** Only the query of a link is used, so that Stonegate's token is not sent elsewhere. */
function samePlace(path: string, link: string): string {
  const query = link.indexOf('?');
  if (query === -1) throw keystoneUnavailable('the next page is no query');
  return `${path.split('?', 1)[0]}${link.slice(query)}`;
}
