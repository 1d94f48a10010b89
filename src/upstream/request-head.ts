/**
 * A request's head as it is written, and the last look at it: nothing in a field may end the field, since what stands
 * behind would be another one, sent in the name of Stonegate.
 * RFC 9112 §3, §5; RFC 9110 §5.5, §5.6.2, §8.6.
 */
import { remembered } from '../lib/remembered.ts';
import { unspeakable } from './failure.ts';
import type { Framing } from './outgoing-headers.ts';
import { isFieldValue, isToken } from './syntax.ts';

const TARGET = /^[\x21-\x7e]+$/;
/** Methods that have content as a rule: without any, they say so. */
const WITH_CONTENT: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** Fields that say where a request ends, or what its connection is for: written here alone. */
const OURS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'transfer-encoding',
  'upgrade',
]);

/** How a field's line begins, behind the end of the line before it; undefined for what is no field's name here. */
const lineStart = remembered((name: string) =>
  isToken(name) && !OURS.has(name.toLowerCase()) ? `\r\n${name}: ` : undefined,
);
/** What follows the answer to a CONNECT is no HTTP. */
const isMethod = remembered((method: string) => isToken(method) && method !== 'CONNECT');

/**
 * @param authority the server's, as the Host field says it
 * @param headers names and values in turn
 * @returns to be sent in latin1
 * @throws StatusError InvariantBroken for what HTTP cannot say
 */
export function requestHead(
  method: string,
  target: string,
  authority: string,
  headers: readonly string[],
  framing: Framing,
): string {
  if (!isMethod(method) || !TARGET.test(target)) throw unspeakable();
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${authority}\r\nconnection: keep-alive`;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const start = lineStart(headers[at] ?? '');
    const value = headers[at + 1] ?? '';
    if (start === undefined || !isFieldValue(value)) throw unspeakable();
    head += start;
    head += value;
  }
  return `${head}${framingField(method, framing)}\r\n\r\n`;
}

function framingField(method: string, framing: Framing): string {
  if (framing === 'chunked') return '\r\ntransfer-encoding: chunked';
  if (framing !== 'none') return `\r\ncontent-length: ${framing}`;
  return WITH_CONTENT.has(method) ? '\r\ncontent-length: 0' : '';
}
