/**
 * The head of an answer, read strictly. What could be read in two ways is no answer: where one ends decides which bytes
 * belong to the next request's, and that is somebody else's.
 * RFC 9112 §2.2, §4, §5, §6.3.
 */
import type { HeaderField } from '../lib/header-list.ts';
import { memoize } from '../lib/memoize.ts';
import { isContentLength, isFieldValue, isToken } from './syntax.ts';

/** How the answer's content ends: at once, after so many bytes, with its last chunk, or with the connection. */
export type AnswerFraming = number | 'chunked' | 'until-close';

export interface AnswerHead {
  readonly status: number;
  readonly fields: HeaderField[];
  readonly framing: AnswerFraming;
  /** Whether another request may follow on the connection. */
  readonly persistent: boolean;
  /** Seconds for which the server promises to keep it. */
  readonly keptFor: number | undefined;
}

/** What was received is no HTTP/1.1 answer, or more than one. */
export class MalformedAnswer extends Error {
  readonly code = 'MALFORMED_ANSWER';
}

const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3})(?: [\t\x20-\x7e\x80-\xff]*)?$/;

type Concern = 'content-length' | 'transfer-encoding' | 'connection' | 'keep-alive' | 'none' | 'invalid';

/** What the name of a field has to do with framing. */
const concernOf = memoize((name: string): Concern => {
  if (!isToken(name)) return 'invalid';
  switch (name.toLowerCase()) {
    case 'content-length':
      return 'content-length';
    case 'transfer-encoding':
      return 'transfer-encoding';
    case 'connection':
      return 'connection';
    case 'keep-alive':
      return 'keep-alive';
    default:
      return 'none';
  }
});

/** What the fields say of framing. A length and a coding stand there once at most. */
interface Framed {
  length: string | undefined;
  coding: string | undefined;
  connection: string;
  keepAlive: string;
}

/**
 * @param text in latin1, without the empty line at its end
 * @param method of the request it answers
 * @throws MalformedAnswer
 */
export function parseAnswerHead(text: string, method: string): AnswerHead {
  const lineEnd = endOfLine(text, 0);
  const line = STATUS_LINE.exec(text.slice(0, lineEnd));
  if (line === null) throw new MalformedAnswer('no status line of HTTP/1.1');
  const status = Number(line[2]);
  const framed: Framed = { length: undefined, coding: undefined, connection: '', keepAlive: '' };
  const fields: HeaderField[] = [];
  for (let at = lineEnd + 2; at < text.length; ) {
    const end = endOfLine(text, at);
    fields.push(readField(text, at, end, framed));
    at = end + 2;
  }
  const framing = framingOf(framed, status, method, line[1] === '1');
  return {
    status,
    fields,
    framing,
    persistent: !isDoubtful(framed, framing, status) && isPersistent(framed.connection, line[1] === '1'),
    keptFor: framed.keepAlive === '' ? undefined : keptFor(framed.keepAlive),
  };
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\r\n', at);
  return end === -1 ? text.length : end;
}

function readField(text: string, at: number, end: number, framed: Framed): HeaderField {
  const colon = text.indexOf(':', at);
  if (colon === -1 || colon >= end) throw new MalformedAnswer('a field without a colon');
  const name = text.slice(at, colon);
  const value = withoutBlanks(text, colon + 1, end);
  if (!isFieldValue(value)) throw new MalformedAnswer('a field with control characters or bare line ends');
  switch (concernOf(name)) {
    case 'invalid':
      throw new MalformedAnswer("a field's name is none");
    case 'content-length':
      if (framed.length !== undefined) throw new MalformedAnswer('two lengths');
      framed.length = value;
      break;
    case 'transfer-encoding':
      if (framed.coding !== undefined) throw new MalformedAnswer('two transfer codings');
      framed.coding = value;
      break;
    case 'connection':
      framed.connection += `,${value}`;
      break;
    case 'keep-alive':
      framed.keepAlive = value;
      break;
    case 'none':
  }
  return [name, value];
}

function withoutBlanks(text: string, at: number, end: number): string {
  let first = at;
  let last = end;
  while (first < last && isBlank(text.charCodeAt(first))) first += 1;
  while (last > first && isBlank(text.charCodeAt(last - 1))) last -= 1;
  return text.slice(first, last);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** Whether another head follows (RFC 9110 §15.2). */
export function isInterim(status: number): boolean {
  return status >= 100 && status < 200;
}

function framingOf(framed: Framed, status: number, method: string, isHTTP11: boolean): AnswerFraming {
  const { length, coding } = framed;
  if (coding !== undefined) {
    if (length !== undefined) throw new MalformedAnswer('both a length and a transfer coding');
    if (!isHTTP11 || coding.toLowerCase() !== 'chunked')
      throw new MalformedAnswer('a transfer coding other than chunked');
  }
  if (length !== undefined && !isContentLength(length))
    throw new MalformedAnswer('a length that is no number');
  if (method === 'HEAD' || isInterim(status) || status === 204 || status === 304) return 0;
  if (coding !== undefined) return 'chunked';
  return length === undefined ? 'until-close' : Number(length);
}

/**
 * Whether something may stand behind the answer that is not the next one: what comes until the connection closes, and
 * the content of a 204, which has none but whose sender announces some (RFC 9110 §8.6).
 */
function isDoubtful({ length, coding }: Framed, framing: AnswerFraming, status: number): boolean {
  if (framing === 'until-close') return true;
  return status === 204 && (coding !== undefined || (length !== undefined && Number(length) > 0));
}

function isPersistent(connection: string, isHTTP11: boolean): boolean {
  if (connection === '') return isHTTP11;
  const options = connection.split(',').map((option) => option.trim().toLowerCase());
  return !options.includes('close') && (isHTTP11 || options.includes('keep-alive'));
}

/** https://www.rfc-editor.org/rfc/rfc2068#section-19.7.1.1 */
function keptFor(keepAlive: string): number | undefined {
  const timeout = /(?:^|[,; ])timeout\s?=\s?"?(\d{1,9})/i.exec(keepAlive);
  return timeout === null ? undefined : Number(timeout[1]);
}
