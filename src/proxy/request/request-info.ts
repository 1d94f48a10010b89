/**
 * Reads a request line as kube-apiserver's RequestInfoFactory does, with the tenant segment as Arktos has it.
 * This one parse decides for authorization and for forwarding. Keywords are compared raw, which is sound
 * because `request-target.ts` refuses every escape of an unreserved character.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/endpoints/request#RequestInfoFactory.NewRequestInfo
 */

import { StatusError } from '../../errors/status-error.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import {
  isWorkload,
  type LongRunning,
  type RequestInfo,
  type ResourceRequest,
} from '../../kubernetes/request-info.ts';
import { firstParameter, isSet } from '../../lib/query.ts';
import { isTenantName } from '../../tenancy/tenant-name.ts';
import { assertSameTenant, splitAddressed } from './addressed-tenant.ts';
import {
  assertProxyTail,
  assertQuery,
  decodeSegment,
  isPlain,
  malformedQuery,
  type RequestTarget,
  splitTarget,
} from './request-target.ts';

export interface RequestInfoOptions {
  /** Whether `tenants/T/` in a path names the request's tenant, and as its prefix addresses a tenant. */
  readonly hasTenantsInPaths: boolean;
}

const VERBS: ReadonlyMap<string, string> = new Map([
  ['GET', 'get'],
  ['HEAD', 'get'],
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);
const CONNECTIONS: ReadonlySet<string> = new Set<LongRunning>(['exec', 'attach', 'portforward', 'proxy']);
const ASCII = /^[\x20-\x7e]*$/;
/** The options of a list that are numbers. */
const NUMBERS = ['timeoutSeconds', 'limit'] as const;
const NUMBER = /^([+-]?)(?=[0-9])0*([0-9]*)$/;
/** Digits of the largest int64. */
const MAX_DIGITS = 19;

/** The positions of the parts of a resource path, as indices into its segments. */
interface Layout {
  readonly apiPrefix: 'api' | 'apis';
  readonly versionAt: number;
  readonly verbPrefix: 'watch' | 'proxy' | undefined;
  readonly tenantSegmentAt: number;
  readonly tenant: string | undefined;
  readonly namespace: string;
  readonly resourceAt: number;
}

/**
 * @param method as sent
 * @param target path and query as sent
 * @throws StatusError RequestMalformed for a target that two readers could read differently; for the prefix
 *   `/tenants/T` as `splitAddressed` and `assertSameTenant` do
 */
export function readRequestInfo(method: string, target: string, options: RequestInfoOptions): RequestInfo {
  const { path: sent, query } = splitTarget(target);
  const { path, addressed } = splitAddressed(sent, options.hasTenantsInPaths);
  const info = readBelowPrefix(method, { path, query }, options);
  if (addressed === undefined) return info;
  const withPrefix = { ...info, addressed };
  assertSameTenant(withPrefix);
  return withPrefix;
}

function readBelowPrefix(
  method: string,
  { path, query }: RequestTarget,
  { hasTenantsInPaths }: RequestInfoOptions,
): RequestInfo {
  const segments = segmentsOf(path);
  const layout = layoutOf(segments, hasTenantsInPaths);
  const decoded = isPlain(path) ? segments : decodeSegments(segments, layout);
  if (layout === undefined)
    return { isResourceRequest: false, verb: method.toLowerCase(), rawPath: path, rawQuery: query };
  return resourceRequest(method, { path, query }, segments, decoded, layout);
}

/** What stands between the slashes; one at the end makes no segment of its own. */
function segmentsOf(path: string): string[] {
  const segments: string[] = [];
  let from = 1;
  for (let to = path.indexOf('/', from); to !== -1; to = path.indexOf('/', from)) {
    segments.push(path.slice(from, to));
    from = to + 1;
  }
  if (from < path.length) segments.push(path.slice(from));
  return segments;
}

/** @returns undefined for a path that names no resource */
function layoutOf(segments: readonly string[], readsTenant: boolean): Layout | undefined {
  const [apiPrefix] = segments;
  if (apiPrefix !== 'api' && apiPrefix !== 'apis') return undefined;
  const versionAt = apiPrefix === 'api' ? 1 : 2;
  let at = versionAt + 1;
  const first = segments[at];
  if (first === undefined) return undefined;
  const verbPrefix = first === 'watch' || first === 'proxy' ? first : undefined;
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

/** The name in `scope/NAME/X…`, unless X is a subresource of the scope's own object. */
function scopeName(segments: readonly string[], at: number, scope: string): string | undefined {
  const behind = segments[at + 2];
  if (segments[at] !== scope || behind === undefined || isOfObject(behind)) return undefined;
  return segments[at + 1];
}

/** Whether the segment after a namespace's or tenant's name is a subresource of that object itself. */
function isOfObject(subresource: string): boolean {
  return subresource === 'status' || subresource === 'finalize';
}

/**
 * @param segments as they came
 * @param decoded the same, up to the tail of a `proxy` subresource at least
 */
function resourceRequest(
  method: string,
  { path, query }: RequestTarget,
  segments: readonly string[],
  decoded: readonly string[],
  layout: Layout,
): ResourceRequest {
  const { apiPrefix, verbPrefix, resourceAt } = layout;
  const pathName = decoded[resourceAt + 1] ?? '';
  const subresource = verbPrefix === 'proxy' ? '' : (decoded[resourceAt + 2] ?? '');
  const resource = decoded[resourceAt] ?? '';
  const asked = verbPrefix ?? VERBS.get(method) ?? '';
  // The query is checked before it is read: reading many broken escapes takes long. What is behind `proxy`
  // reads its query by its own rules.
  const isOfWorkload = isWorkload({ isResourceRequest: true, apiPrefix, resource, subresource, verb: asked });
  if (!isOfWorkload) assertQuery(query);
  const { verb, name } = verbAndName(asked, pathName, query);
  const longRunning = longRunningKind(verb, subresource, query);
  const info: ResourceRequest = {
    isResourceRequest: true,
    rawPath: path,
    rawQuery: query,
    verb,
    apiPrefix,
    apiGroup: apiPrefix === 'apis' ? (decoded[1] ?? '') : '',
    apiVersion: decoded[layout.versionAt] ?? '',
    tenant: layout.tenant === undefined ? '' : tenantOf(layout.tenant),
    namespace: layout.namespace === '' ? '' : decodeSegment(layout.namespace),
    resource,
    subresource,
    name,
    tenantOffset: offsetOf(segments, layout.tenantSegmentAt),
  };
  return longRunning === undefined ? info : { ...info, longRunning };
}

/**
 * @throws StatusError RequestMalformed for what is no tenant's name: it would mean something else in other
 *   paths
 */
function tenantOf(segment: string): TenantName {
  const name = decodeSegment(segment);
  if (isTenantName(name)) return name;
  throw new StatusError('RequestMalformed', 'the request path is refused: it names a tenant that cannot be');
}

/**
 * Decodes strictly up to the tail of a `proxy` subresource, which it only checks and leaves out.
 *
 * @param layout undefined for a path that names no resource
 */
function decodeSegments(segments: readonly string[], layout: Layout | undefined): string[] {
  if (layout === undefined || layout.verbPrefix === 'proxy') return segments.map(decodeSegment);
  const thirdAt = layout.resourceAt + 2;
  const end = segments[thirdAt] === 'proxy' ? thirdAt + 1 : segments.length;
  for (const segment of segments.slice(end)) assertProxyTail(segment);
  return segments.slice(0, end).map(decodeSegment);
}

/** @throws StatusError RequestMalformed */
function verbAndName(verb: string, name: string, query: string): { verb: string; name: string } {
  if (name !== '') return { verb, name };
  if (verb === 'delete') return { verb: 'deletecollection', name };
  if (verb !== 'get') return { verb, name };
  return { verb: isWatch(query) ? 'watch' : 'list', name: selectedIn(query) };
}

/**
 * @throws StatusError RequestMalformed for letters that releases of the API server fold differently
 *   (`falſe`)
 */
function isWatch(query: string): boolean {
  const value = firstParameter(query, 'watch');
  if (value !== undefined && !ASCII.test(value)) throw malformedQuery('its "watch" is not printable ASCII');
  return isSet(value);
}

/**
 * The name that the selector asks for; none if the API server cannot read all the options, as it then drops
 * them.
 */
function selectedIn(query: string): string {
  const selector = firstParameter(query, 'fieldSelector');
  if (selector === undefined || !NUMBERS.every((name) => isNumber(firstParameter(query, name)))) return '';
  return selectedName(selector) ?? '';
}

/** Whether it is an int64. The length comes first: a number of very many digits takes long to read. */
function isNumber(value: string | undefined): boolean {
  if (value === undefined) return true;
  const [, sign = '', digits] = NUMBER.exec(value) ?? [];
  if (digits === undefined || digits.length > MAX_DIGITS) return false;
  const number = BigInt(`${sign}${digits || '0'}`);
  return BigInt.asIntN(64, number) === number;
}

function longRunningKind(verb: string, subresource: string, query: string): LongRunning | undefined {
  if (verb === 'watch' || verb === 'proxy') return verb;
  if (subresource === 'log') return isSet(firstParameter(query, 'follow')) ? 'log' : undefined;
  return isConnection(subresource) ? subresource : undefined;
}

function isConnection(subresource: string): subresource is LongRunning {
  return CONNECTIONS.has(subresource);
}

/** The offset in the path at which the segment of that index begins. */
function offsetOf(segments: readonly string[], index: number): number {
  let offset = 1;
  for (let at = 0; at < index; at += 1) offset += (segments[at]?.length ?? 0) + 1;
  return offset;
}

/** A backslash takes the next character with it. */
const TERMS = /(?:\\[\s\S]?|[^\\,])+/g;
/** A backslash in a value may only escape `\`, `,` and `=`, and the last two must be escaped. */
const VALUE = /^(?:\\[\\,=]|[^\\,=])*$/;

/**
 * The API server evaluates the terms in the order of their bytes. Only those for the name are compared, since
 * the selector comes from clients that are not known yet and may have very many terms.
 *
 * @returns undefined if the selector is malformed, asks for no exact name, or for one that is no path segment
 */
export function selectedName(selector: string): string | undefined {
  let first: { readonly bytes: Buffer; readonly value: string } | undefined;
  for (const text of selector.match(TERMS) ?? []) {
    const term = termOf(text);
    if (term === undefined) return undefined;
    if (term.field !== 'metadata.name' || term.negated) continue;
    const bytes = Buffer.from(text);
    if (first === undefined || Buffer.compare(bytes, first.bytes) < 0) first = { bytes, value: term.value };
  }
  const name = first?.value.replace(/\\(.)/g, '$1');
  return name !== undefined && isSegmentName(name) ? name : undefined;
}

/** What stands before the first operator (`!=`, `==` or `=`) is the field, whatever it holds. */
function termOf(text: string): { field: string; negated: boolean; value: string } | undefined {
  const at = text.indexOf('=');
  if (at === -1) return undefined;
  const negated = text[at - 1] === '!';
  const value = text.slice(!negated && text[at + 1] === '=' ? at + 2 : at + 1);
  return VALUE.test(value) ? { field: text.slice(0, negated ? at - 1 : at), negated, value } : undefined;
}

function isSegmentName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/%]/.test(name);
}
