/**
 * What an answer's head must be before a writer may send it, in either protocol: a final status, and no length
 * where the status says that there is no content. HTTP/2 clients take such a length for a broken stream.
 * RFC 9110 §8.6, §15, §15.3.6.
 */
import { StatusError } from '../errors/status-error.ts';
import { type HeaderList, isNamed } from '../lib/header-list.ts';

/**
 * @returns the fields to send
 * @throws StatusError InvariantBroken where it is no final status
 */
export function checkedFields(status: number, headers: HeaderList): HeaderList {
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new StatusError('InvariantBroken', 'Internal error occurred: an answer has no final status');
  if (status !== 204 && status !== 205) return headers;
  return headers.filter(([name]) => !isNamed(name, 'content-length'));
}
