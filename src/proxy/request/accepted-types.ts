/**
 * Restricts the forms in which the API server may respond to those that Stonegate can read, and decides
 * whether Stonegate's own API can respond in JSON. RFC 9110 §12.5.1
 */

import { StatusError } from '../../errors/status-error.ts';
import { JSON_TYPE, PROTOBUF_TYPE } from '../../kubernetes/meta-v1.ts';
import { isWorkload, type RequestInfo } from '../../kubernetes/request-info.ts';
import { type HeaderField, type HeaderList, isNamed } from '../../lib/header-list.ts';
import { acceptedRanges, covers, narrowedTo, parametersOf } from '../../lib/media-ranges.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';

/** Whether a response to the request is a watch whose events are filtered. */
export function isFilteredWatch(
  info: RequestInfo,
  { watchEvents }: Pick<TenancyMode, 'watchEvents'>,
): boolean {
  return watchEvents === 'filtered' && info.isResourceRequest && info.verb === 'watch';
}

/**
 * @param headers of a request that is forwarded
 * @throws StatusError NotAcceptable if the client takes none of the forms that are left
 */
export function withAcceptedTypes(
  headers: HeaderList,
  info: RequestInfo,
  mode: Pick<TenancyMode, 'protobuf' | 'watchEvents'>,
): HeaderList {
  if (!info.isResourceRequest || isWorkload(info)) return headers;
  if (isFilteredWatch(info, mode)) return inPlainJSON(headers);
  return mode.protobuf === 'asJSON' ? withoutProtobuf(headers) : headers;
}

/**
 * A filter that reads events must know their form, and find them as they are.
 *
 * @throws StatusError NotAcceptable if the client takes no JSON
 */
export function inPlainJSON(headers: HeaderList): HeaderField[] {
  const others = headers.filter(([name]) => !isNamed(name, 'accept') && !isNamed(name, 'accept-encoding'));
  const accept = narrowedTo(JSON_TYPE, headers);
  if (accept === undefined) throw notAcceptable([JSON_TYPE]);
  return [...others, ['Accept', accept]];
}

function withoutProtobuf(headers: HeaderList): HeaderList {
  const ranges = acceptedRanges(headers);
  const left = ranges.filter(({ type }) => type !== PROTOBUF_TYPE);
  if (left.length === ranges.length) return headers;
  if (left.length === 0) throw notAcceptable([JSON_TYPE, 'application/yaml']);
  const accept = left.map(({ text }) => text).join(', ');
  return [...headers.filter(([name]) => !isNamed(name, 'accept')), ['Accept', accept]];
}

/** The message is the API server's. */
function notAcceptable(types: readonly string[]): StatusError {
  return new StatusError('NotAcceptable', `only the following media types are accepted: ${types.join(', ')}`);
}

/**
 * Checks that the client accepts JSON, for responses that have no other form.
 *
 * @throws StatusError NotAcceptable, as for a client that accepts only protobuf or only a Table
 */
export function requireJSON(headers: HeaderList): void {
  const ranges = acceptedRanges(headers);
  const isAccepted = ranges.some((range) => covers(range, JSON_TYPE) && !parametersOf(range).has('as'));
  if (ranges.length > 0 && !isAccepted) throw notAcceptable([JSON_TYPE]);
}
