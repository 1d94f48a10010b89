/**
 * Parses a request line as the API server does: on the decoded path, with the `watch/` and `proxy/` prefixes
 * and, in Arktos, with the tenant segment. It is written independently of Stonegate’s own parser, so that the
 * two can disagree.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/endpoints/request#RequestInfo
 */
import { PlainError } from './statuses.ts';

export interface RequestPath {
  readonly isResourceRequest: boolean;
  /** The decoded path, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  /** The tenant in the path; empty for a short path. */
  readonly tenant: string;
  readonly namespace: string;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
  /** The text after the subresource, as sent: the path below `proxy/`. */
  readonly tail: string;
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
const OWN_SUBRESOURCES = new Set(['status', 'finalize']);

/**
 * @param readsTenant false for an ordinary cluster, where `tenants` is a resource like any other
 * @throws PlainError 400 for a path that cannot be decoded, 500 if nothing follows a prefix
 */
export function parseRequestPath(method: string, target: string, readsTenant: boolean): RequestPath {
  const mark = target.indexOf('?');
  const rawPath = mark < 0 ? target : target.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1));
  const path = decode(rawPath);
  const parts = path.replace(/^\/+|\/+$/g, '').split('/');
  const prefixLength = parts[0] === 'api' ? 2 : parts[0] === 'apis' ? 3 : Number.POSITIVE_INFINITY;
  if (parts.length <= prefixLength) return nonResource(method, path, query);
  const group = prefixLength === 3 ? (parts[1] ?? '') : '';
  const version = parts[prefixLength - 1] ?? '';
  let verb = VERBS[method] ?? '';
  let rest = parts.slice(prefixLength);
  const special = rest[0] === 'watch' || rest[0] === 'proxy' ? rest[0] : undefined;
  if (special !== undefined) {
    if (rest.length < 2)
      throw new PlainError(
        500,
        `Internal Server Error: ${JSON.stringify(path)}: nothing named behind ${special}`,
      );
    verb = special;
    rest = rest.slice(1);
  }
  let tenant = '';
  if (readsTenant && rest[0] === 'tenants' && rest.length > 2 && !OWN_SUBRESOURCES.has(rest[2] ?? '')) {
    tenant = rest[1] ?? '';
    rest = rest.slice(2);
  }
  let namespace = '';
  if (rest[0] === 'namespaces' && rest.length > 1) {
    namespace = rest[1] ?? '';
    if (rest.length > 2 && !OWN_SUBRESOURCES.has(rest[2] ?? '')) rest = rest.slice(2);
  }
  const [resource = '', segment = '', subresource = ''] = rest;
  const name = segment === '' ? nameSelected(query, method) : segment;
  if (segment === '' && verb === 'get') verb = 'list';
  if (verb === 'list' && wantsWatch(query)) verb = 'watch';
  if (segment === '' && verb === 'delete') verb = 'deletecollection';
  return {
    isResourceRequest: true,
    path,
    query,
    verb,
    group,
    version,
    tenant,
    namespace,
    resource,
    name,
    subresource: special === 'proxy' ? '' : subresource,
    tail: tailBehind(rawPath, subresource),
  };
}

function decode(rawPath: string) {
  try {
    return decodeURIComponent(rawPath);
  } catch {
    throw new PlainError(400, 'Bad Request: the path is not well-formed');
  }
}

function nonResource(method: string, path: string, query: URLSearchParams): RequestPath {
  const nothing = {
    group: '',
    version: '',
    tenant: '',
    namespace: '',
    resource: '',
    name: '',
    subresource: '',
    tail: '',
  };
  return { isResourceRequest: false, path, query, verb: method.toLowerCase(), ...nothing };
}

/** A list that selects exactly one name is authorized as a request for that name. */
function nameSelected(query: URLSearchParams, method: string) {
  if (method === 'POST') return '';
  const selector = query.get('fieldSelector') ?? '';
  return /^metadata\.name=([^,]+)$/.exec(selector)?.[1] ?? '';
}

function wantsWatch(query: URLSearchParams) {
  const value = query.get('watch');
  return value !== null && !['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(value);
}

function tailBehind(rawPath: string, subresource: string) {
  if (subresource !== 'proxy') return '';
  const at = rawPath.indexOf('/proxy', rawPath.indexOf('/namespaces/'));
  return rawPath.slice(at + '/proxy'.length);
}
