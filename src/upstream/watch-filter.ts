/**
 * Drops the BOOKMARK events of a watch. An Arktos API server fills them with whole objects of any tenant,
 * secrets included, whether the client asked for bookmarks or not. Each event is one line of JSON, and its
 * first bytes decide, so that nothing is parsed or held back.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#watch-bookmarks
 */
import { StatusError } from '../errors/status-error.ts';
import { type HeaderList, headerValues } from '../lib/header-list.ts';

const NEWLINE = 0x0a;
const NOTHING: Buffer = Buffer.alloc(0);
const beginningOf = (type: string): string => `{"type":"${type}"`;
const BOOKMARK = beginningOf('BOOKMARK');
/** The first bytes of all lines; none begins as another does. */
const BEGINNINGS = [BOOKMARK, ...['ADDED', 'MODIFIED', 'DELETED', 'ERROR'].map(beginningOf)];
const LONGEST = Math.max(...BEGINNINGS.map(({ length }) => length));

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
  /** Whether the current line passes; undefined until its beginning is known. */
  #passes: boolean | undefined;
  /** The beginning of the current line, as long as it does not decide. */
  #beginning = NOTHING;

  /**
   * @param bytes the next of the response, however they were cut
   * @returns what of them is passed on, in order
   * @throws Error for a line that is no watch event
   */
  take(bytes: Buffer): Buffer[] {
    const parts: Buffer[] = [];
    /** Where the bytes start that pass and are not in `parts` yet; undefined in a line that is dropped. */
    let from = this.#passes ? 0 : undefined;
    for (let at = 0; at < bytes.length; ) {
      if (this.#passes === undefined) {
        const held = this.#beginning;
        this.#passes = this.#decide(bytes, at);
        if (this.#passes && from === undefined) {
          if (held.length > 0) parts.push(held);
          from = at;
        } else if (!this.#passes && from !== undefined) {
          if (from < at) parts.push(bytes.subarray(from, at));
          from = undefined;
        }
        if (this.#passes === undefined) break;
      }
      const end = bytes.indexOf(NEWLINE, at);
      at = end === -1 ? bytes.length : end + 1;
      if (end !== -1) this.#passes = undefined;
    }
    if (from !== undefined) parts.push(from === 0 ? bytes : bytes.subarray(from));
    return parts;
  }

  /** @returns undefined if the bytes end before the line's beginning does */
  #decide(bytes: Buffer, at: number): boolean | undefined {
    const line = Buffer.concat([this.#beginning, bytes.subarray(at, at + LONGEST)]);
    const text = line.toString('latin1');
    this.#beginning = NOTHING;
    const known = BEGINNINGS.find((beginning) => text.startsWith(beginning));
    if (known !== undefined) return known !== BOOKMARK;
    if (!BEGINNINGS.some((beginning) => beginning.startsWith(text)))
      throw new Error('the API server answered a watch with a line that is no known event');
    this.#beginning = line;
    return undefined;
  }
}
