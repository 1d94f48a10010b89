/**
 * Lists a resource page by page, so that no page blocks the process for long, as of one revision.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
import { STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import { StatusError } from '../errors/status-error.ts';
import { TooLarge } from '../lib/byte-budget.ts';
import { elementsOf, goList, isJSONObject, membersOf } from '../lib/json-object.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../pipeline/ports.ts';
import { MalformedObject, readRevision, type WrittenObject } from './read-rbac-object.ts';

/** The API server gave another status than 200. */
export class UnexpectedStatus extends Error {
  readonly status: number;

  constructor(status: number, message = `the API server's status was ${status}`) {
    super(message);
    this.status = status;
  }
}

const PAGE = 500;
/** A page that is too large is requested again with so many times fewer objects. */
const FEWER = 5;
/** How often a list begins anew because its revision was forgotten. */
const ATTEMPTS = 3;

type TakePage = (items: readonly WrittenObject[], revision: number) => void;

/**
 * @param fetcher called for each page
 * @param path of the list, without a query
 * @param take called with the items of each page and the revision of the list; called with those of the first
 *   page again if the list begins anew, after `restart`
 * @returns the revision of the list
 * @throws UnexpectedStatus, MalformedObject; StatusError as the fetcher does
 */
export async function listPages(
  fetcher: () => UpstreamFetcher,
  path: string,
  { restart, take }: { readonly restart: () => void; readonly take: TakePage },
  signal: AbortSignal,
): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    restart();
    const revision = await listOnce(fetcher, path, take, signal);
    if (revision !== undefined) return revision;
  }
  throw new UnexpectedStatus(410, `the list expired ${ATTEMPTS} times before it was complete`);
}

/**
 * The API server's revision now: that of a list without a resourceVersion, which is consistent.
 *
 * @param path of the list, without a query
 * @throws as `listPages`
 */
export async function readCurrentRevision(
  fetcher: UpstreamFetcher,
  path: string,
  signal: AbortSignal,
): Promise<number> {
  const response = await fetchPage(() => fetcher, `${path}?limit=1`, signal);
  if (response === 'tooLarge') throw new UnexpectedStatus(413);
  if (response.status !== 200) throw new UnexpectedStatus(response.status);
  return readRevision(readPage(response).revision);
}

/** @returns undefined if the API server has forgotten the revision of the list */
async function listOnce(
  fetcher: () => UpstreamFetcher,
  path: string,
  take: TakePage,
  signal: AbortSignal,
): Promise<number | undefined> {
  let limit = PAGE;
  let next = '';
  let revision: number | undefined;
  for (;;) {
    const query = `limit=${limit}${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`;
    const response = await fetchPage(fetcher, `${path}?${query}`, signal);
    if (response === 'tooLarge' && limit > 1) {
      limit = Math.ceil(limit / FEWER);
      continue;
    }
    if (response === 'tooLarge') throw new UnexpectedStatus(413);
    if (response.status === 410) return undefined;
    if (response.status !== 200) throw new UnexpectedStatus(response.status);
    const page = readPage(response);
    revision ??= readRevision(page.revision);
    take(page.items, revision);
    if (page.next === '') return revision;
    next = page.next;
    // Few large objects of one tenant must not make the list of all others take minutes.
    limit = Math.min(PAGE, limit * 2);
  }
}

async function fetchPage(
  fetcher: () => UpstreamFetcher,
  target: string,
  signal: AbortSignal,
): Promise<UpstreamResponse | 'tooLarge'> {
  try {
    const request = {
      account: STONEGATE_ACCOUNT,
      sender: { kind: 'stonegate' },
      method: 'GET',
      target,
    } as const;
    return await fetcher().fetch({ ...request, headers: [['Accept', 'application/json']] }, signal);
  } catch (error) {
    if (error instanceof StatusError && error.cause instanceof TooLarge) return 'tooLarge';
    throw error;
  }
}

interface ListPage {
  readonly items: readonly WrittenObject[];
  readonly revision: unknown;
  /** Empty on the last page. */
  readonly next: string;
}

function readPage({ body }: UpstreamResponse): ListPage {
  const text = body.toString('utf8');
  const list = parse(text);
  const items = isJSONObject(list) ? goList(list.items) : undefined;
  if (!isJSONObject(list) || !isJSONObject(list.metadata) || items === undefined)
    throw new MalformedObject('the response is no list');
  const { continue: next, resourceVersion: revision } = list.metadata;
  let texts: readonly string[] | undefined;
  return {
    items: items.map((value, at) => ({
      value,
      text() {
        texts ??= textsOfItems(text);
        return texts[at] ?? '';
      },
    })),
    revision,
    next: typeof next === 'string' ? next : '',
  };
}

function textsOfItems(list: string): string[] {
  return elementsOf(membersOf(list).findLast(({ name }) => name === 'items')?.value ?? '[]');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
