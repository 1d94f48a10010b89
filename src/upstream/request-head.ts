/**
 * A request's head as it is written, and the last look at it: nothing in a field may end the field, since what stands
 * behind would be another one, sent in the name of Stonegate.
 * RFC 9112 §3, §5; RFC 9110 §5.5, §5.6.2, §8.6.
 */
import type { HeaderList } from '../lib/header-list.ts';
import { memoize } from '../lib/memoize.ts';
import { unspeakable } from './failure.ts';
import { credentialLeft, type Framing, fateOf } from './outgoing-headers.ts';
import { isFieldValue, isToken } from './syntax.ts';

const TARGET = /^[\x21-\x7e]+$/;
/** Methods that have content as a rule: without any, they say so. */
const WITH_CONTENT: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** What follows the answer to a CONNECT is no HTTP. */
const isMethod = memoize((method: string) => isToken(method) && method !== 'CONNECT');

/**
 * @param authority the server's, as the Host field says it
 * @param headers complete but for the credential; what belongs to the client's connection is left out
 * @param token the sender's; undefined where our client certificate speaks for us
 * @returns to be sent in latin1
 * @throws StatusError InvariantBroken for what HTTP cannot say, and where somebody's Authorization is still there
 */
export function requestHead(
  method: string,
  target: string,
  authority: string,
  headers: HeaderList,
  token: string | undefined,
  framing: Framing,
): string {
  if (!isMethod(method) || !TARGET.test(target)) throw unspeakable();
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${authority}\r\nconnection: keep-alive`;
  for (const field of headers) {
    const { kind, start } = fateOf(field[0]);
    if (kind === 'left') continue;
    if (kind === 'credential') throw credentialLeft();
    const value = field[1];
    if (kind === 'unspeakable' || !isFieldValue(value)) throw unspeakable();
    head += start;
    head += value;
  }
  if (token !== undefined) head += `\r\nAuthorization: Bearer ${speakable(token)}`;
  return `${head}${framingField(method, framing)}\r\n\r\n`;
}

function speakable(value: string): string {
  if (!isFieldValue(value)) throw unspeakable();
  return value;
}

function framingField(method: string, framing: Framing): string {
  if (framing === 'chunked') return '\r\ntransfer-encoding: chunked';
  if (framing !== 'none') return `\r\ncontent-length: ${framing}`;
  return WITH_CONTENT.has(method) ? '\r\ncontent-length: 0' : '';
}
