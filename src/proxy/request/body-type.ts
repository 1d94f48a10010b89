/**
 * What the body of a request is, by its header. RFC 9110 §8.3, §8.4.
 */

import { StatusError } from '../../errors/status-error.ts';
import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import { type HeaderList, headerValues } from '../../lib/header-list.ts';

/**
 * @param accepted media types in lower case, and what each is to the caller
 * @returns what the body's is; JSON if the client names none
 * @throws StatusError MediaTypeUnsupported for another type, for several of them, and for a compressed body
 */
export function bodyType<T>(headers: HeaderList, accepted: readonly (readonly [type: string, T])[]): T {
  const [type = JSON_TYPE, ...more] = headerValues(headers, 'content-type');
  const [name = ''] = type.split(';', 1);
  const found = accepted.find(([one]) => one === name.trim().toLowerCase());
  const encodings = headerValues(headers, 'content-encoding').map((value) => value.trim().toLowerCase());
  if (found !== undefined && more.length === 0 && encodings.every((encoding) => encoding === 'identity'))
    return found[1];
  throw unsupportedType(accepted.map(([one]) => one));
}

/** Refuses in the API server's words. */
export function unsupportedType(accepted: readonly string[]): StatusError {
  return new StatusError(
    'MediaTypeUnsupported',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
}
