/**
 * Parses the head of a response, strictly: the head decides the end of the response, and bytes that two
 * parsers attribute differently would reach another user's response. RFC 9112 §2.2, §4, §5, §6.3.
 */
import { type HeaderField, isContentLength, isFieldValue, isToken, trimmed } from '../../lib/header-list.ts';
import { memoize } from '../../lib/memoize.ts';
import { malformedResponse } from './errors.ts';

/** The length of the body in bytes, or what ends it: the last chunk, or the end of the connection. */
export type ResponseFraming = number | 'chunked' | 'until-close';

export interface ResponseHead {
  readonly status: number;
  readonly fields: HeaderField[];
  readonly framing: ResponseFraming;
  /** Whether another request may follow on the connection. */
  readonly persistent: boolean;
  /** Seconds for which the server keeps the idle connection open, if it says so. */
  readonly keepAliveTimeout: number | undefined;
}

const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3})(?: [\t\x20-\x7e\x80-\xff]*)?$/;

/** The name in lower case; undefined if it is invalid. */
const fieldName = memoize((name: string) => (isToken(name) ? name.toLowerCase() : undefined));

/** The values of the fields that concern framing and the connection. */
interface MessageFields {
  contentLength: string | undefined;
  transferEncoding: string | undefined;
  connection: string;
  keepAlive: string;
}

/**
 * @param text in latin1, without the empty line at its end
 * @param method of the request
 * @throws Http1Error MALFORMED_RESPONSE
 */
export function parseResponseHead(text: string, method: string): ResponseHead {
  const lineEnd = endOfLine(text, 0);
  const line = STATUS_LINE.exec(text.slice(0, lineEnd));
  if (line === null) throw malformedResponse('no HTTP/1.x status line');
  const status = Number(line[2]);
  const message: MessageFields = {
    contentLength: undefined,
    transferEncoding: undefined,
    connection: '',
    keepAlive: '',
  };
  const fields: HeaderField[] = [];
  for (let at = lineEnd + 2; at < text.length; ) {
    const end = endOfLine(text, at);
    fields.push(parseField(text, at, end, message));
    at = end + 2;
  }
  const isHTTP11 = line[1] === '1';
  const framing = responseFraming(message, status, method, isHTTP11);
  return {
    status,
    fields,
    framing,
    persistent: !isEndDoubtful(message, framing, status) && isPersistent(message.connection, isHTTP11),
    keepAliveTimeout: message.keepAlive === '' ? undefined : keepAliveTimeout(message.keepAlive),
  };
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\r\n', at);
  return end === -1 ? text.length : end;
}

function parseField(text: string, at: number, end: number, message: MessageFields): HeaderField {
  const colon = text.indexOf(':', at);
  if (colon === -1 || colon >= end) throw malformedResponse('a field without a colon');
  const name = text.slice(at, colon);
  const value = trimmed(text, colon + 1, end);
  if (!isFieldValue(value)) throw malformedResponse('a field with control characters or bare line ends');
  switch (fieldName(name)) {
    case undefined:
      throw malformedResponse('an invalid field name');
    case 'content-length':
      if (message.contentLength !== undefined) throw malformedResponse('more than one Content-Length');
      message.contentLength = value;
      break;
    case 'transfer-encoding':
      if (message.transferEncoding !== undefined) throw malformedResponse('more than one Transfer-Encoding');
      message.transferEncoding = value;
      break;
    case 'connection':
      message.connection += `,${value}`;
      break;
    case 'keep-alive':
      message.keepAlive = value;
      break;
  }
  return [name, value];
}

/** Whether another head follows (RFC 9110 §15.2). */
export function isInterim(status: number): boolean {
  return status >= 100 && status < 200;
}

function responseFraming(
  { contentLength, transferEncoding }: MessageFields,
  status: number,
  method: string,
  isHTTP11: boolean,
): ResponseFraming {
  if (transferEncoding !== undefined) {
    if (contentLength !== undefined) throw malformedResponse('both Content-Length and Transfer-Encoding');
    if (!isHTTP11 || transferEncoding.toLowerCase() !== 'chunked')
      throw malformedResponse('a transfer coding other than chunked');
  }
  if (contentLength !== undefined && !isContentLength(contentLength))
    throw malformedResponse('an invalid Content-Length');
  if (method === 'HEAD' || isInterim(status) || status === 204 || status === 304) return 0;
  if (transferEncoding !== undefined) return 'chunked';
  return contentLength === undefined ? 'until-close' : Number(contentLength);
}

/**
 * Whether bytes may follow that are not the next response: the body until the connection closes, and the body
 * that some servers send after a 204 with a length, although a 204 has none (RFC 9110 §8.6).
 */
function isEndDoubtful(
  { contentLength, transferEncoding }: MessageFields,
  framing: ResponseFraming,
  status: number,
): boolean {
  if (framing === 'until-close') return true;
  return (
    status === 204 &&
    (transferEncoding !== undefined || (contentLength !== undefined && Number(contentLength) > 0))
  );
}

function isPersistent(connection: string, isHTTP11: boolean): boolean {
  if (connection === '') return isHTTP11;
  const options = connection.split(',').map((option) => option.trim().toLowerCase());
  return !options.includes('close') && (isHTTP11 || options.includes('keep-alive'));
}

/** https://www.rfc-editor.org/rfc/rfc2068#section-19.7.1.1 */
function keepAliveTimeout(keepAlive: string): number | undefined {
  const timeout = /(?:^|[,; ])timeout\s?=\s?"?(\d{1,9})/i.exec(keepAlive);
  return timeout === null ? undefined : Number(timeout[1]);
}
