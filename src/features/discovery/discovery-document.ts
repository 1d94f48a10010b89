/**
 * One discovery document: how it is requested, how it is read, and the error if it cannot be read.
 * https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */

import type { z } from 'zod';
import { ONLY_OPERATOR, StatusError } from '../../errors/status-error.ts';
import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { type Account, ownGet } from '../../kubernetes/upstream-request.ts';
import { type HeaderList, headerValue } from '../../lib/header-list.ts';
import { readJSON } from '../../lib/json-object.ts';
import { bestFirst, covers, qualityOf, readRanges } from '../../lib/media-ranges.ts';
import type { GroupVersion } from '../../proxy/discovered-resources.ts';
import { type DiscoveryRoute, discoveryRoute } from '../../tenancy/discovery-paths.ts';

/** The rest is about the connection, or about a body that we may have changed. */
const DISCOVERY_FIELDS: ReadonlySet<string> = new Set([
  'content-type',
  'cache-control',
  'expires',
  'location',
  'retry-after',
  'vary',
  'warning',
]);
export const JSON_RESPONSE: UpstreamResponse = {
  status: 200,
  headers: [['Content-Type', JSON_TYPE]],
  body: Buffer.alloc(0),
};
export const NOT_FOUND: UpstreamResponse = {
  status: 404,
  headers: [['Content-Type', 'text/plain; charset=utf-8']],
  body: Buffer.from('404 page not found\n'),
};

function relayedHeaders(headers: HeaderList): HeaderList {
  return headers.filter(([name]) => DISCOVERY_FIELDS.has(name.toLowerCase()));
}

/**
 * @param tenant undefined if the API server has no tenants
 * @returns undefined for a path that Stonegate does not request as itself
 */
export function versionRoute(
  tenant: TenantName | undefined,
  { group, version }: GroupVersion,
): DiscoveryRoute | undefined {
  return discoveryRoute(group === '' ? `/api/${version}` : `/apis/${group}/${version}`, tenant);
}

/** @returns undefined for the core group's path, which has no custom resources */
export function groupVersionOf(path: string): GroupVersion | undefined {
  const [, root, group = '', version = ''] = path.split('/');
  return root === 'apis' ? { group, version } : undefined;
}

export const nameOf = ({ group, version }: GroupVersion): string => `${group}/${version}`;

/**
 * @throws StatusError UpstreamUnavailable if the document cannot be read: what is not reduced is not shown
 */
export function documentOf<T>({ headers, body }: UpstreamResponse, schema: z.ZodType<T>): T {
  const type = headerValue(headers, 'content-type') ?? '';
  if (!type.startsWith(JSON_TYPE)) throw unreadable(`its type is ${JSON.stringify(type)}`);
  const { data } = schema.safeParse(readJSON(body));
  if (data === undefined) throw unreadable('it is of another kind');
  return data;
}

export function withBody(response: UpstreamResponse, document: object): UpstreamResponse {
  return { ...response, body: Buffer.from(`${JSON.stringify(document)}\n`) };
}

export function unreadable(cause: unknown): StatusError {
  return new StatusError(
    'UpstreamUnavailable',
    'the API server answered discovery with something that cannot be read',
    { cause },
  );
}

function refusedRights(): StatusError {
  return new StatusError(
    'UpstreamRefusedCredential',
    `the API server does not let Stonegate read discovery${ONLY_OPERATOR}`,
  );
}

/** The owner of the document, and the user who asks. */
export interface DocumentOwner {
  readonly tenant: TenantName;
  /** The tenant's own, or that of the guests who ask. */
  readonly account: Account;
}

/** One form of one document. */
export interface DocumentRequest extends DocumentOwner {
  readonly route: DiscoveryRoute;
  /** One of a small, fixed number per path. */
  readonly accept: string;
}

/** @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential */
export async function fetchDocument(
  fetcher: UpstreamFetcher,
  { account, route: { path, query }, accept }: DocumentRequest,
  signal: AbortSignal,
): Promise<UpstreamResponse> {
  const { status, headers, body } = await fetcher.fetch(
    { ...ownGet(query === '' ? path : `${path}?${query}`, accept), account },
    signal,
  );
  // No user is on the request, so the refusal is about Stonegate's own rights.
  if (status === 403) throw refusedRights();
  return { status, headers: relayedHeaders(headers), body };
}

/** Only JSON can be reduced; of what the rest says, every client reads JSON. */
const JSON_ONLY: readonly string[] = [JSON_TYPE];
/** Some releases of kubectl read OpenAPI v2 as protobuf alone. */
const OPENAPI_V2_FORMS: readonly string[] = [
  JSON_TYPE,
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
];
/** More than any client sends; what stands behind does not count. */
const MAX_RANGES = 16;

/**
 * @param accept the client's own; empty if it sent none
 * @returns the Accept header to send: one of a small, fixed number of values per path
 */
export function discoveryForm(path: string, accept: string): string {
  const forms = path === '/openapi/v2' ? OPENAPI_V2_FORMS : JSON_ONLY;
  const [first, ...others] = acceptedForms(accept, forms);
  if (first === undefined) return JSON_TYPE;
  return [first, ...others.map((form, index) => `${form};q=0.${9 - index}`)].join(', ');
}

/** The forms among a client's, its favourite first. */
function acceptedForms(accept: string, forms: readonly string[]): Set<string> {
  const ranges = readRanges(accept).slice(0, MAX_RANGES);
  const wanted = bestFirst(ranges.filter((range) => qualityOf(range) > 0 && qualityOf(range) <= 1));
  const names = wanted.map((range) => (covers(range, JSON_TYPE) ? JSON_TYPE : range.type));
  return new Set(names.filter((name) => forms.includes(name)));
}
