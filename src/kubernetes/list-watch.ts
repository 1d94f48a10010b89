/**
 * Lists a resource page by page, so that no page blocks the process for long, as of one revision; and reads
 * the events of a watch line by line.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */

import { StatusError } from '../errors/status-error.ts';
import { goList, isJSONObject, readJSONObject } from '../lib/json-object.ts';
import { elementsOf, skipBlanks, valueAt, writtenIn } from '../lib/json-scan.ts';
import { TooLarge } from '../limits/byte-budget.ts';
import { LineSplitter } from './line-splitter.ts';
import { JSON_TYPE } from './meta-v1.ts';
import type { UpstreamFetcher, UpstreamResponse, UpstreamStreamer } from './upstream-ports.ts';
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
  /** The original text: Arktos' `hashKey` is a number that JavaScript cannot represent. */
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

interface Listed {
  readonly path: string;
  /** Whether only metadata is asked for: an older API server sends whole objects all the same. */
  readonly metadataOnly?: boolean;
  readonly upstream: () => UpstreamFetcher;
}

/** @returns pages for `listPages`, requested with Stonegate's own account */
export function pagesOf({ path, metadataOnly, upstream }: Listed, signal: AbortSignal) {
  const accept = acceptOf('PartialObjectMetadataList', metadataOnly);
  return (query: string): Promise<UpstreamResponse> =>
    upstream().fetch(ownGet(`${path}?${query}`, accept), signal);
}

/** @param kind of the response if only metadata is asked for */
export function acceptOf(kind: string, metadataOnly = false): string {
  return metadataOnly ? `${JSON_TYPE};as=${kind};g=meta.k8s.io;v=v1,${JSON_TYPE}` : JSON_TYPE;
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

export type WatchEvent =
  | { readonly kind: 'put' | 'delete'; readonly object: ReceivedObject }
  | { readonly kind: 'bookmark'; readonly revision: number };

const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Watches until the API server ends the watch in good order.
 *
 * @param target with the query
 * @throws UnexpectedStatus, with 410 if the API server has forgotten the revision; MalformedObject, also for
 *   an event over 16 MiB; StatusError as the streamer does
 */
export async function* watchEvents(
  upstream: UpstreamStreamer,
  target: string,
  signal: AbortSignal,
  metadataOnly?: boolean,
): AsyncGenerator<WatchEvent, void> {
  const accept = acceptOf('PartialObjectMetadata', metadataOnly);
  const { status, body } = await upstream.stream(ownGet(target, accept), signal);
  if (status !== 200) {
    body.destroy();
    throw new UnexpectedStatus(status);
  }
  const lines = new LineSplitter(MAX_LINE_BYTES);
  for await (const chunk of body)
    for (const line of linesIn(lines, Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk)))) {
      const event = readEvent(line);
      if (event !== undefined) yield event;
    }
  if (lines.isWithinLine) throw new MalformedObject('the last line is not complete');
}

function linesIn(lines: LineSplitter, bytes: Buffer): readonly Buffer[] {
  try {
    return lines.take(bytes).filter((line) => skipBlanks(line, 0) < line.length);
  } catch (error) {
    throw error instanceof TooLarge ? new MalformedObject(error.message) : error;
  }
}

/**
 * @returns undefined for a type that no API server sends today
 * @throws MalformedObject; UnexpectedStatus for an error event, with 410 if the API server has forgotten the
 *   revision
 */
export function readEvent(line: Buffer): WatchEvent | undefined {
  const event = readJSONObject(line);
  if (typeof event?.type !== 'string') throw new MalformedObject('a line is no watch event');
  const { type, object } = event;
  const metadata = isJSONObject(object) && isJSONObject(object.metadata) ? object.metadata : {};
  const written = { value: object, text: () => textOfObject(line) };
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      return { kind: 'put', object: written };
    case 'DELETED':
      return { kind: 'delete', object: written };
    case 'BOOKMARK':
      // Arktos sends whole objects of any tenant in bookmarks: nothing else of them is read.
      return { kind: 'bookmark', revision: readRevision(metadata.resourceVersion) };
    case 'ERROR':
      throw errorOf(object);
    default:
      return undefined;
  }
}

function errorOf(status: unknown): UnexpectedStatus {
  const { code, reason, message } = isJSONObject(status) ? status : {};
  const isExpired = code === 410 || reason === 'Expired' || reason === 'Gone';
  const text = typeof message === 'string' ? message.slice(0, 200) : 'no message';
  return new UnexpectedStatus(isExpired ? 410 : 500, `the API server ended the watch: ${text}`);
}

function textOfObject(line: Buffer): string {
  const object = valueAt(line, ['object']);
  return object === undefined ? '' : writtenIn(line, object);
}
