/**
 * In which forms the API server may respond, if not in all that the client accepts. The client's Accept is
 * read as the API server reads it: cut at each comma, and compared by type alone.
 * RFC 9110 §12.5.1;
 * https://pkg.go.dev/k8s.io/apiserver/pkg/endpoints/handlers/negotiation
 */
import { JSON_TYPE, PROTOBUF_TYPE } from '../../api/meta-v1.ts';
import { isWorkload, type RequestInfo } from '../../api/request-info.ts';
import { StatusError } from '../../errors/status-error.ts';
import { type HeaderField, type HeaderList, headerValues, isNamed } from '../../lib/header-list.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';

const ANYTHING: ReadonlySet<string> = new Set(['*/*', 'application/*']);

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
  return mode.protobuf === 'refused' ? withoutProtobuf(headers) : headers;
}

/**
 * A filter that reads events must know their form, and find them as they are.
 *
 * @throws StatusError NotAcceptable if the client takes no JSON
 */
export function inPlainJSON(headers: HeaderList): HeaderField[] {
  const others = headers.filter(([name]) => !isNamed(name, 'accept') && !isNamed(name, 'accept-encoding'));
  const values = headerValues(headers, 'accept');
  const ranges = values.flatMap(rangesOf).flatMap((range) => {
    const type = typeOf(range);
    if (type === JSON_TYPE) return range;
    return ANYTHING.has(type) ? JSON_TYPE : [];
  });
  if (ranges.length === 0 && values.some((value) => value.trim() !== '')) throw notAcceptable([JSON_TYPE]);
  return [...others, ['Accept', ranges.length === 0 ? JSON_TYPE : ranges.join(', ')]];
}

function withoutProtobuf(headers: HeaderList): HeaderList {
  const values = headerValues(headers, 'accept');
  if (!values.some((value) => rangesOf(value).some(isProtobuf))) return headers;
  const ranges = values.flatMap(rangesOf).filter((range) => !isProtobuf(range));
  if (ranges.length === 0) throw notAcceptable([JSON_TYPE, 'application/yaml']);
  return [...headers.filter(([name]) => !isNamed(name, 'accept')), ['Accept', ranges.join(', ')]];
}

function rangesOf(accept: string): string[] {
  return accept
    .split(',')
    .map((range) => range.trim())
    .filter((range) => range !== '');
}

function isProtobuf(range: string): boolean {
  return typeOf(range) === PROTOBUF_TYPE;
}

/** Without parameters, and without the blanks that the API server overlooks around the slash. */
function typeOf(range: string): string {
  const [type = ''] = range.split(';', 1);
  return type.replace(/\s+/g, '').toLowerCase();
}

/** In the API server's words. */
function notAcceptable(types: readonly string[]): StatusError {
  return new StatusError('NotAcceptable', `only the following media types are accepted: ${types.join(', ')}`);
}

/**
 * In which form Stonegate itself responds: the first in the client's list that it has.
 *
 * @throws StatusError NotAcceptable, as for a client that accepts only protobuf
 */
export function acceptedForm(headers: HeaderList): 'json' | 'table' {
  const ranges = headerValues(headers, 'accept').flatMap(rangesOf);
  if (ranges.length === 0) return 'json';
  for (const range of ranges) {
    const type = typeOf(range);
    if (type !== JSON_TYPE && !ANYTHING.has(type)) continue;
    const parameters = parametersOf(range);
    const as = parameters.get('as');
    if (as === undefined) return 'json';
    if (as === 'Table' && parameters.get('v') === 'v1' && parameters.get('g') === 'meta.k8s.io')
      return 'table';
  }
  throw notAcceptable([JSON_TYPE]);
}

function parametersOf(range: string): ReadonlyMap<string, string> {
  const [, ...parameters] = range.split(';');
  return new Map(
    parameters.map((parameter) => {
      const [name = '', value = ''] = parameter.split('=');
      return [name.trim(), value.trim()];
    }),
  );
}
