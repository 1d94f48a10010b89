/**
 * Drops the BOOKMARK events of a watch. An Arktos API server fills them with whole objects of any tenant,
 * secrets included, whether the client asked for bookmarks or not. Each event is one line of JSON, and its
 * first bytes decide, so that nothing is parsed or held back.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#watch-bookmarks
 */
import { StatusError } from '../errors/status-error.ts';
import { type HeaderList, headerValues } from '../lib/header-list.ts';

interface EventKind {
  /** The first bytes of its lines. */
  readonly beginning: Buffer;
  readonly passes: boolean;
}

const START = Buffer.from('{"type":"');
const NEWLINE = 0x0a;

const kind = (name: string, passes: boolean): EventKind => ({
  beginning: Buffer.from(`${START}${name}"`),
  passes,
});
/** By the first letter, which differs. */
const KINDS: ReadonlyMap<number | undefined, EventKind> = new Map(
  [
    kind('ADDED', true),
    kind('MODIFIED', true),
    kind('DELETED', true),
    kind('ERROR', true),
    kind('BOOKMARK', false),
  ].map((known) => [known.beginning[START.length], known]),
);

const JSON_TYPE = /^application\/json(?:\s*;|\s*$)/i;

/**
 * @param headers of the response to a watch
 * @throws StatusError UpstreamUnavailable for one that is not in the form that was asked for, or whose length
 *   is fixed
 */
export function assertWatchEvents(headers: HeaderList): void {
  const types = headerValues(headers, 'content-type');
  const encoded = headerValues(headers, 'content-encoding').some((value) => value.trim() !== 'identity');
  if (types.length === 1 && JSON_TYPE.test(types[0] ?? '') && !encoded && isOfAnyLength(headers)) return;
  throw new StatusError(
    'UpstreamUnavailable',
    'the API server answered a watch with something other than events in JSON',
  );
}

/** Less is passed on than arrives. */
function isOfAnyLength(headers: HeaderList): boolean {
  return headerValues(headers, 'content-length').length === 0;
}

export class WatchFilter {
  /** Of the current line, once its first letter is known. */
  #kind: EventKind | undefined;
  /** How many bytes of the current line's beginning were read. */
  #read = 0;
  #decided = false;

  /**
   * @param bytes the next of the response, however they were cut
   * @returns what of them is passed on, in order
   * @throws Error for a line that is no watch event
   */
  take(bytes: Buffer): Buffer[] {
    const parts: Buffer[] = [];
    /** Start of the bytes that pass and are not in `parts` yet. */
    let passing = this.#decided && this.#kind?.passes ? 0 : bytes.length;
    let at = 0;
    while (at < bytes.length) {
      if (!this.#decided) {
        const lineStart = at;
        const before = this.#read;
        at = this.#readBeginning(bytes, at);
        const passes = this.#decided && this.#kind?.passes === true;
        if (!passes && passing < lineStart) parts.push(bytes.subarray(passing, lineStart));
        if (!passes) passing = bytes.length;
        else if (before > 0) parts.push(this.#beginning(before));
        if (passes && passing > lineStart) passing = lineStart;
      }
      if (this.#decided) at = this.#readRest(bytes, at);
    }
    if (passing < bytes.length) parts.push(passing === 0 ? bytes : bytes.subarray(passing));
    return parts;
  }

  /** What an earlier piece ended with, before it was known whether it passes. */
  #beginning(length: number): Buffer {
    return Buffer.from((this.#kind?.beginning ?? START).subarray(0, length));
  }

  /** @returns the index of the next byte: behind the line's beginning, or the end of the bytes */
  #readBeginning(bytes: Buffer, from: number): number {
    let expected = this.#kind?.beginning ?? START;
    let read = this.#read;
    let at = from;
    for (; at < bytes.length; at += 1) {
      if (read === START.length) {
        this.#kind = KINDS.get(bytes[at]);
        expected = this.#kind?.beginning ?? START;
      }
      if (expected[read] !== bytes[at])
        throw new Error('the API server answered a watch with a line that is no known event');
      read += 1;
      if (read > START.length && read === expected.length) {
        this.#decided = true;
        at += 1;
        break;
      }
    }
    this.#read = read;
    return at;
  }

  /** @returns the index of the next line, or the end of the bytes */
  #readRest(bytes: Buffer, from: number): number {
    const end = bytes.indexOf(NEWLINE, from);
    if (end === -1) return bytes.length;
    this.#kind = undefined;
    this.#read = 0;
    this.#decided = false;
    return end + 1;
  }
}
