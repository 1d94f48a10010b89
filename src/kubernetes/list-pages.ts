/**
 * Lists a resource page by page, so that no page blocks the process for long, as of one revision.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */

import { StatusError } from '../errors/status-error.ts';
import { goList, isJSONObject, readJSONObject } from '../lib/json-object.ts';
import { elementsOf, valueAt, writtenIn } from '../lib/json-scan.ts';
import { TooLarge } from '../limits/byte-budget.ts';
import type { UpstreamFetcher, UpstreamResponse } from './upstream-ports.ts';
import { ownGet } from './upstream-request.ts';

/** The API server gave another status than 200. */
export class UnexpectedStatus extends Error {
  readonly status: number;

  constructor(status: number, message = `the API server's status was ${status}`) {
    super(message);
    this.status = status;
  }
}

/** An object, or the list or watch that contains it, cannot be used. */
export class MalformedObject extends Error {}

/**
 * A resource version as a number, so that two of them can be compared.
 * https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/5504-comparable-resource-version
 *
 * @throws MalformedObject
 */
export function readRevision(value: unknown): number {
  const revision = typeof value === 'string' && /^[1-9]\d*$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(revision)) return revision;
  throw new MalformedObject(`the resourceVersion ${JSON.stringify(value)} is no number`);
}

/** An object of a list or a watch. */
export interface ReceivedObject {
  /** Parsed. */
  readonly value: unknown;
  /** The same as it was written: Arktos' `hashKey` is a number that JavaScript does not have. */
  readonly text: () => string;
}

const PAGE = 500;
/**
 * A page that is too large is requested again with so many times fewer objects, so that large objects cannot
 * hide others.
 */
const FEWER = 5;

export interface ListPage {
  /** The kind of the list, such as `SecretList`. */
  readonly kind: unknown;
  /** The resourceVersion of the list. */
  readonly revision: unknown;
  readonly items: readonly ReceivedObject[];
  /** Empty on the last page. */
  readonly next: string;
}

/**
 * @param fetchPage requests a page
 * @throws UnexpectedStatus, with 410 if the API server has forgotten the revision of the list;
 *   MalformedObject; what `fetchPage` throws
 */
export async function* listPages(
  fetchPage: (query: string) => Promise<UpstreamResponse>,
): AsyncGenerator<ListPage, void> {
  let limit = PAGE;
  let next = '';
  for (;;) {
    const query = `limit=${limit}${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`;
    const response = await unlessTooLarge(fetchPage(query), limit > 1);
    if (response === undefined) {
      limit = Math.ceil(limit / FEWER);
      continue;
    }
    const page = readPage(response);
    yield page;
    if (page.next === '') return;
    next = page.next;
    // Few large objects of one tenant must not make the list of all others take minutes.
    limit = Math.min(PAGE, limit * 2);
  }
}

/** @returns pages for `listPages`, requested with Stonegate's own account */
export function pagesOf(fetcher: () => UpstreamFetcher, path: string, signal: AbortSignal) {
  return (query: string): Promise<UpstreamResponse> => fetcher().fetch(ownGet(`${path}?${query}`), signal);
}

/** @throws UnexpectedStatus, MalformedObject */
export function readPage({ status, body }: UpstreamResponse): ListPage {
  if (status !== 200) throw new UnexpectedStatus(status);
  const list = readJSONObject(body);
  const items = goList(list?.items);
  if (list === undefined || !isJSONObject(list.metadata) || items === undefined)
    throw new MalformedObject('the response is no list');
  const { continue: next, resourceVersion: revision } = list.metadata;
  let texts: readonly string[] | undefined;
  return {
    kind: list.kind,
    revision,
    items: items.map((value, at) => ({
      value,
      text() {
        texts ??= textsOfItems(body);
        return texts[at] ?? '';
      },
    })),
    next: typeof next === 'string' ? next : '',
  };
}

/** @returns undefined for a page that is too large, if it can be split */
async function unlessTooLarge(
  page: Promise<UpstreamResponse>,
  divisible: boolean,
): Promise<UpstreamResponse | undefined> {
  try {
    return await page;
  } catch (error) {
    if (divisible && error instanceof StatusError && error.cause instanceof TooLarge) return undefined;
    throw error;
  }
}

function textsOfItems(list: Buffer): string[] {
  const items = valueAt(list, ['items']);
  return items === undefined
    ? []
    : Array.from(elementsOf(list, items.start), (item) => writtenIn(list, item));
}
