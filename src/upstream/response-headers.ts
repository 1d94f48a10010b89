/**
 * Which fields of the API server's answer go on to the client: all but those of the connection it came over
 * (RFC 9110 §7.6.1), and each single-value field once. A repeated one throws on an HTTP/2 stream and hangs it;
 * the first is what Node itself would have kept.
 */
import { type HeaderField, type HeaderList, isNamed } from '../lib/header-list.ts';
import { memoize } from '../lib/memoize.ts';
import { isFieldValue } from './syntax.ts';

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Answers that have no content (RFC 9110 §15.3.5, 15.3.6, 15.4.5): a length would promise some. */
const WITHOUT_CONTENT: ReadonlySet<number> = new Set([204, 205, 304]);

/** All that Node's HTTP/2 takes once per message, request fields included: a workload may send any. */
const SINGLE_VALUE: ReadonlySet<string> = new Set([
  'access-control-allow-credentials',
  'access-control-allow-origin',
  'access-control-max-age',
  'access-control-request-method',
  'age',
  'authorization',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-md5',
  'content-range',
  'content-type',
  'date',
  'dnt',
  'etag',
  'expires',
  'from',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'proxy-authorization',
  'range',
  'referer',
  'retry-after',
  'tk',
  'upgrade-insecure-requests',
  'user-agent',
  'x-content-type-options',
]);

/** What there is to know of a field by its name. */
const fieldRule = memoize((field: string) => {
  const name = field.toLowerCase();
  return { name, hopByHop: HOP_BY_HOP.has(name), single: SINGLE_VALUE.has(name) };
});

/** Whether an answer of that status has no content, whatever its sender says. */
export function isWithoutContent(status: number): boolean {
  return WITHOUT_CONTENT.has(status);
}

export function responseHeaders(status: number, received: HeaderList): HeaderField[] {
  const dropped = connectionOptions(received);
  const seen: string[] = [];
  const kept: HeaderField[] = [];
  for (const field of received) {
    const { name, hopByHop, single } = fieldRule(field[0]);
    if (name === 'content-length' && isWithoutContent(status)) continue;
    // A listener would throw on a value that is none.
    if (hopByHop || dropped?.has(name) || !isFieldValue(field[1])) continue;
    if (single) {
      if (seen.includes(name)) continue;
      seen.push(name);
    }
    kept.push(field);
  }
  return kept;
}

/** The fields that `Connection` names; undefined in the usual case, where there are none. */
function connectionOptions(received: HeaderList): ReadonlySet<string> | undefined {
  let options: Set<string> | undefined;
  for (const [name, value] of received) {
    if (!isNamed(name, 'connection')) continue;
    options ??= new Set();
    for (const option of value.split(',')) options.add(option.trim().toLowerCase());
  }
  return options;
}
