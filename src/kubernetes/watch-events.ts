/**
 * The events of a watch, read line by line from its response.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */

import { isJSONObject, type JSONObject, readJSONObject } from '../lib/json-object.ts';
import { skipBlanks, valueAt, writtenIn } from '../lib/json-scan.ts';
import { TooLarge } from '../limits/byte-budget.ts';
import { LineSplitter } from './line-splitter.ts';
import { MalformedObject, type ReceivedObject, readRevision, UnexpectedStatus } from './list-pages.ts';
import type { UpstreamStreamer } from './upstream-ports.ts';
import { ownGet } from './upstream-request.ts';

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
): AsyncGenerator<WatchEvent, void> {
  const { status, body } = await upstream.stream(ownGet(target), signal);
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
  const written = { value: object, text: () => textOfObject(line) };
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      return { kind: 'put', object: written };
    case 'DELETED':
      return { kind: 'delete', object: written };
    case 'BOOKMARK':
      // Arktos sends whole objects of any tenant in bookmarks: nothing else of them is read.
      return { kind: 'bookmark', revision: readRevision(metadataOf(object).resourceVersion) };
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

function metadataOf(object: unknown): JSONObject {
  return isJSONObject(object) && isJSONObject(object.metadata) ? object.metadata : {};
}

function textOfObject(line: Buffer): string {
  const object = valueAt(line, ['object']);
  return object === undefined ? '' : writtenIn(line, object);
}
