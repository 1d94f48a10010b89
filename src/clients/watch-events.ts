/**
 * The events of a watch, read line by line from its response.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */

import type { Readable } from 'node:stream';
import { TooLarge } from '../lib/byte-budget.ts';
import { isJSONObject, type JSONObject, membersOf } from '../lib/json-object.ts';
import { LineSplitter } from '../lib/line-splitter.ts';
import { readRevision, type WrittenObject } from './read-rbac-object.ts';

/** The response is no stream of watch events, or cannot be trusted to be a complete one. */
export class WatchGarbage extends Error {}

export type WatchEvent =
  | { readonly kind: 'put' | 'delete'; readonly object: WrittenObject }
  | { readonly kind: 'bookmark'; readonly revision: number }
  /** The revision is no longer in the API server's history. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'error'; readonly message: string }
  /** Of a type that no API server sends today. */
  | { readonly kind: 'unknown' };

const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * @param onLine called for each complete line: an event that never ends is no sign of life
 * @throws WatchGarbage for a line over 16 MiB; what the body fails with
 */
export async function* readLines(body: Readable, onLine: () => void): AsyncGenerator<string, void> {
  const lines = new LineSplitter(MAX_LINE_BYTES);
  for await (const chunk of body) {
    for (const line of linesIn(lines, Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk)))) {
      onLine();
      yield line;
    }
  }
  if (lines.isWithinLine) throw new WatchGarbage('the last line is not complete');
}

function linesIn(lines: LineSplitter, bytes: Buffer): readonly string[] {
  try {
    const texts = lines.take(bytes).map((line) => line.toString('utf8'));
    return texts.filter((text) => text.trim() !== '');
  } catch (error) {
    throw error instanceof TooLarge ? new WatchGarbage(error.message) : error;
  }
}

/** @throws WatchGarbage, MalformedObject */
export function readEvent(line: string): WatchEvent {
  const event = parse(line);
  if (!isJSONObject(event) || typeof event.type !== 'string')
    throw new WatchGarbage('a line is no watch event');
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
      return readError(object);
    default:
      return { kind: 'unknown' };
  }
}

function readError(status: unknown): WatchEvent {
  const { code, reason, message } = isJSONObject(status) ? status : {};
  if (code === 410 || reason === 'Expired' || reason === 'Gone') return { kind: 'expired' };
  return { kind: 'error', message: typeof message === 'string' ? message.slice(0, 200) : 'no message' };
}

function metadataOf(object: unknown): JSONObject {
  return isJSONObject(object) && isJSONObject(object.metadata) ? object.metadata : {};
}

function textOfObject(line: string): string {
  return membersOf(line).findLast(({ name }) => name === 'object')?.value ?? '';
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new WatchGarbage('a line is no JSON');
  }
}
