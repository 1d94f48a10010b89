/**
 * Negotiates the form of an object, list or watch that Stonegate answers, as the API server does; always in
 * JSON.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/endpoints/handlers/negotiation
 */

import { StatusError } from '../../errors/status-error.ts';
import { type HeaderList, headerValue } from '../../lib/header-list.ts';
import { acceptedRanges, bestFirst, covers, parametersOf } from '../../lib/media-ranges.ts';
import { firstParameter } from '../../lib/query.ts';
import { JSON_TYPE } from '../meta-v1.ts';

export type IncludedObject = 'None' | 'Metadata' | 'Object';

export type ResponseForm =
  | { readonly kind: 'objects' }
  | { readonly kind: 'metadata'; readonly version: MetaVersion }
  | { readonly kind: 'table'; readonly version: MetaVersion; readonly include: IncludedObject };

type MetaVersion = 'v1' | 'v1beta1';

export interface FormRequest {
  readonly verb: 'get' | 'list' | 'watch';
  /** The kind of the objects, not of the list. */
  readonly kind: string;
}

/** @throws StatusError NotAcceptable, RequestMalformed */
export function responseForm(headers: HeaderList, query: string, request: FormRequest): ResponseForm {
  const ranges = acceptedRanges(headers);
  if (ranges.length === 0) return { kind: 'objects' };
  for (const range of bestFirst(ranges)) {
    if (!covers(range, JSON_TYPE)) continue;
    const form = formOf(parametersOf(range), query, request);
    if (form !== undefined) return form;
  }
  throw new StatusError(
    'NotAcceptable',
    `only the following media types are accepted: ${JSON_TYPE}${request.verb === 'watch' ? ';stream=watch' : ''}`,
  );
}

/** @returns undefined if the transformation is none that the API server has */
function formOf(
  parameters: ReadonlyMap<string, string>,
  query: string,
  { verb, kind: objectKind }: FormRequest,
): ResponseForm | undefined {
  const [kind, group, version] = ['as', 'g', 'v'].map((name) => parameters.get(name));
  if (kind === undefined && group === undefined && version === undefined) return { kind: 'objects' };
  if (group !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return undefined;
  switch (kind) {
    case 'Table':
      return { kind: 'table', version, include: includedObject(query) };
    case 'PartialObjectMetadataList':
      if (verb !== 'get') return { kind: 'metadata', version };
      throw new StatusError(
        'NotAcceptable',
        `you requested PartialObjectMetadataList, but the requested object is not a list (*core.${objectKind})`,
      );
    case 'PartialObjectMetadata':
      if (verb !== 'list') return { kind: 'metadata', version };
      throw new StatusError(
        'NotAcceptable',
        `you requested PartialObjectMetadata, but the requested object is a list (*core.${objectKind}List)`,
      );
    default:
      return undefined;
  }
}

function includedObject(query: string): IncludedObject {
  const included = firstParameter(query, 'includeObject') ?? '';
  switch (included) {
    case '':
      return 'Metadata';
    case 'None':
    case 'Metadata':
    case 'Object':
      return included;
    default:
      throw new StatusError(
        'RequestMalformed',
        `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(included)}: must be 'Metadata', 'Object', 'None', or empty`,
      );
  }
}

const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);

/** Browsers and the usual tools of a shell get indented JSON unless they say otherwise. */
export function isPretty(headers: HeaderList, query: string): boolean {
  const asked = firstParameter(query, 'pretty') ?? '';
  if (asked !== '') return TRUE.has(asked);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(headerValue(headers, 'user-agent') ?? '');
}
