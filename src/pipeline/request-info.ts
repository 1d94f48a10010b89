/**
 * Reads a request line as kube-apiserver's RequestInfoFactory does, with the tenant segment as Arktos has it.
 * This one parse decides for authorization and for forwarding. Keywords are compared raw, which is sound because
 * `path-rules.ts` refuses every escape of an unreserved character.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/endpoints/request#RequestInfoFactory.NewRequestInfo
 */
import type { TenantName } from '../api/identity.ts';
import type { LongRunning, RequestInfo, ResourceRequest } from '../api/request-info.ts';
import { StatusError } from '../errors/status-error.ts';
import { firstParameter } from '../lib/query.ts';
import { isTenantName } from '../tenancy/tenant-name.ts';
import { selectedName } from './field-selector.ts';
import { assertProxyTail, decodeSegment, type RequestTarget, splitTarget } from './path-rules.ts';

export interface RequestInfoOptions {
  /** Whether `tenants/T/` in a path names the request's tenant. */
  readonly readsTenantFromPath: boolean;
}

const VERBS: ReadonlyMap<string, string> = new Map([
  ['GET', 'get'],
  ['HEAD', 'get'],
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);
const VERB_PREFIXES: ReadonlySet<string> = new Set(['watch', 'proxy']);
/** Behind a namespace's or a tenant's name these belong to that object itself. */
const OBJECT_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize']);
const CONNECTIONS: ReadonlySet<string> = new Set<LongRunning>(['exec', 'attach', 'portforward', 'proxy']);
const PROXIED: ReadonlySet<string> = new Set(['pods', 'services', 'nodes']);

/** Where things stand in a resource path, as indices into its segments. */
interface Layout {
  readonly apiPrefix: 'api' | 'apis';
  readonly versionAt: number;
  readonly verbPrefix: string | undefined;
  readonly tenantSegmentAt: number;
  readonly tenant: string | undefined;
  readonly namespace: string;
  readonly resourceAt: number;
}

/**
 * @param method as sent
 * @param target path and query as sent
 * @throws StatusError RequestMalformed for a target that two readers could read differently
 */
export function parseRequestInfo(method: string, target: string, options: RequestInfoOptions): RequestInfo {
  const split = splitTarget(target);
  const segments = split.path.slice(1).split('/');
  if (segments.at(-1) === '') segments.pop();
  const layout = layoutOf(segments, options.readsTenantFromPath);
  if (layout === undefined) {
    for (const segment of segments) decodeSegment(segment);
    return {
      isResourceRequest: false,
      verb: method.toLowerCase(),
      rawPath: split.path,
      rawQuery: split.query,
    };
  }
  return resourceRequest(method, split, segments, layout);
}

/** @returns undefined for a path that names no resource */
function layoutOf(segments: readonly string[], readsTenant: boolean): Layout | undefined {
  const [apiPrefix] = segments;
  if (apiPrefix !== 'api' && apiPrefix !== 'apis') return undefined;
  const versionAt = apiPrefix === 'api' ? 1 : 2;
  let at = versionAt + 1;
  const first = segments[at];
  if (first === undefined) return undefined;
  const verbPrefix = VERB_PREFIXES.has(first) ? first : undefined;
  if (verbPrefix !== undefined) at += 1;
  const tenantSegmentAt = at;
  const tenant = readsTenant ? scopeName(segments, at, 'tenants') : undefined;
  if (tenant !== undefined) at += 2;
  const namespace = segments[at] === 'namespaces' ? (segments[at + 1] ?? '') : '';
  if (scopeName(segments, at, 'namespaces') !== undefined) at += 2;
  return {
    apiPrefix,
    versionAt,
    verbPrefix,
    tenantSegmentAt,
    tenant,
    namespace,
    resourceAt: at,
  };
}

/** The name in `scope/NAME/X…`, where X is no subresource of the scope's own object. */
function scopeName(segments: readonly string[], at: number, scope: string): string | undefined {
  const behind = segments[at + 2];
  if (segments[at] !== scope || behind === undefined || OBJECT_SUBRESOURCES.has(behind)) return undefined;
  return segments[at + 1];
}

function resourceRequest(
  method: string,
  { path, query }: RequestTarget,
  segments: readonly string[],
  layout: Layout,
): ResourceRequest {
  const decoded = decodeSegments(segments, layout);
  const [resource = '', pathName = '', third = ''] = decoded.slice(layout.resourceAt);
  const subresource = layout.verbPrefix === 'proxy' ? '' : third;
  const { verb, name } = verbAndName(layout.verbPrefix ?? VERBS.get(method) ?? '', pathName, query);
  const longRunning = longRunningKind(verb, subresource, query);
  return {
    isResourceRequest: true,
    rawPath: path,
    rawQuery: query,
    verb,
    apiPrefix: layout.apiPrefix,
    apiGroup: layout.apiPrefix === 'apis' ? (decoded[1] ?? '') : '',
    apiVersion: decoded[layout.versionAt] ?? '',
    tenant: layout.tenant === undefined ? '' : tenantOf(layout.tenant),
    namespace: layout.namespace === '' ? '' : decodeSegment(layout.namespace),
    resource,
    subresource,
    name,
    tenantOffset: offsetOf(segments, layout.tenantSegmentAt),
    ...(longRunning === undefined ? {} : { longRunning }),
  };
}

/** @throws StatusError RequestMalformed for what is no tenant's name: it would mean something else in other paths */
function tenantOf(segment: string): TenantName {
  const name = decodeSegment(segment);
  if (isTenantName(name)) return name;
  throw new StatusError('RequestMalformed', 'the request path is refused: it names a tenant that cannot be');
}

/** Decodes strictly up to the tail of a `proxy` subresource, which it only checks and leaves out. */
function decodeSegments(segments: readonly string[], { verbPrefix, resourceAt }: Layout): string[] {
  const proxied = verbPrefix !== 'proxy' && segments[resourceAt + 2] === 'proxy';
  const end = proxied ? resourceAt + 3 : segments.length;
  for (const segment of segments.slice(end)) assertProxyTail(segment);
  return segments.slice(0, end).map(decodeSegment);
}

function verbAndName(verb: string, name: string, query: string): { verb: string; name: string } {
  if (name !== '') return { verb, name };
  if (verb === 'delete') return { verb: 'deletecollection', name };
  if (verb !== 'get') return { verb, name };
  const selector = firstParameter(query, 'fieldSelector');
  return {
    verb: isSet(query, 'watch') ? 'watch' : 'list',
    name: selector === undefined ? '' : (selectedName(selector) ?? ''),
  };
}

/** A boolean parameter as apimachinery converts it: anything but `false` and `0` is true, nothing at all too. */
function isSet(query: string, parameter: string): boolean {
  const value = firstParameter(query, parameter)?.toLowerCase();
  return value !== undefined && value !== 'false' && value !== '0';
}

function longRunningKind(verb: string, subresource: string, query: string): LongRunning | undefined {
  if (verb === 'watch' || verb === 'proxy') return verb;
  if (subresource === 'log') return isSet(query, 'follow') ? 'log' : undefined;
  return isConnection(subresource) ? subresource : undefined;
}

function isConnection(subresource: string): subresource is LongRunning {
  return CONNECTIONS.has(subresource);
}

/** Whether a pod, a service or a node answers the request instead of the API server, which only passes it on. */
export function isWorkload(info: RequestInfo): boolean {
  return (
    info.isResourceRequest &&
    info.apiPrefix === 'api' &&
    PROXIED.has(info.resource) &&
    (info.subresource === 'proxy' || info.verb === 'proxy')
  );
}

/** Where the segment of that index begins in the path. */
function offsetOf(segments: readonly string[], index: number): number {
  return segments.slice(0, index).reduce((offset, segment) => offset + segment.length + 1, 1);
}
