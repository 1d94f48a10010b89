/**
 * What an answer's head must be before a writer may send it, in either protocol: a final status, and no length
 * where the status says that there is no content. HTTP/2 clients take such a length for a broken stream.
 * RFC 9110 §8.6, §15, §15.3.6.
 */
import { StatusError } from '../errors/status-error.ts';
import type { HeaderList } from '../lib/header-list.ts';

const WITHOUT_LENGTH: ReadonlySet<number> = new Set([204, 205]);

/**
 * @returns the fields to send
 * @throws StatusError InvariantBroken where it is no final status
 */
export function checkedFields(status: number, headers: HeaderList): HeaderList {
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new StatusError('InvariantBroken', 'Internal error occurred: an answer has no final status');
  if (!WITHOUT_LENGTH.has(status)) return headers;
  return headers.filter(([name]) => name.toLowerCase() !== 'content-length');
}
