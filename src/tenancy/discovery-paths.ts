/**
 * The closed list of what Stonegate fetches as itself: paths the API server shows to no tenant and every
 * client needs. https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */

import type { RequestInfo, TenantName } from '../kubernetes/request-info.ts';
import { allParameters, firstParameter } from '../lib/query.ts';
import type { Reduction, TenancyMode } from './tenancy-mode.ts';

export interface DiscoveryPath {
  readonly reduce: Reduction;
  /** Whether the document differs per tenant, so that the tenant is named in the request. */
  readonly perTenant: boolean;
}

const SHARED: DiscoveryPath = { reduce: 'none', perTenant: false };
const GROUP = '[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?';
const VERSION = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';
const HEALTH = /^\/(?:healthz|livez|readyz)$/;

const PATHS: readonly (readonly [RegExp, DiscoveryPath])[] = [
  [/^\/api$/, SHARED],
  [/^\/api\/v1$/, { reduce: 'resources', perTenant: false }],
  [/^\/apis$/, { reduce: 'groups', perTenant: true }],
  [new RegExp(`^/apis/${GROUP}$`), { reduce: 'group', perTenant: true }],
  [new RegExp(`^/apis/${GROUP}/${VERSION}$`), { reduce: 'resources', perTenant: true }],
  [/^\/openapi\/v2$/, SHARED],
  [/^\/openapi\/v3(?:\/[A-Za-z0-9._-]+)*\/?$/, SHARED],
  [/^\/version$/, SHARED],
  [HEALTH, SHARED],
];

/** The paths in the form of non-resource rules of RBAC. */
export const DISCOVERY_URLS: readonly string[] = [
  '/api',
  '/api/v1',
  '/apis',
  '/apis/*',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/*',
  '/version',
  '/healthz',
  '/livez',
  '/readyz',
];

/** @returns undefined for every other path */
export function discoveryPath(path: string): DiscoveryPath | undefined {
  return PATHS.find(([pattern]) => pattern.test(path))?.[1];
}

/** A part of the API server's health, as `exclude` names it. */
const HEALTH_CHECK = /^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,127}$/;
/** Matches the hash of a document of OpenAPI v3, a checksum in hexadecimal digits. */
const DOCUMENT_HASH = /^[0-9A-Fa-f]{1,128}$/;
const MAX_EXCLUDED = 32;

/**
 * The query of a request that Stonegate sends with its own identity: the client's parameters of a closed
 * list, each written anew, and the tenant if there is one. `timeout` is left out, since several clients may
 * share the response.
 *
 * @param tenant undefined if the query names no tenant
 */
export function discoveryQuery(path: string, query: string, tenant: TenantName | undefined): string {
  const parameters = isHealth(path)
    ? healthQuery(query)
    : path.startsWith('/openapi/v3/')
      ? hashQuery(query)
      : [];
  return [...parameters, ...(tenant === undefined ? [] : [`tenant=${tenant}`])].join('&');
}

/** Whether a document is the API server's health, which is never cached. */
export function isHealth(path: string): boolean {
  return HEALTH.test(path);
}

function healthQuery(query: string): string[] {
  const excluded = allParameters(query, 'exclude').filter((name) => HEALTH_CHECK.test(name));
  return [
    ...(firstParameter(query, 'verbose') === undefined ? [] : ['verbose']),
    ...[...new Set(excluded)].slice(0, MAX_EXCLUDED).map((name) => `exclude=${name}`),
  ];
}

function hashQuery(query: string): string[] {
  const hash = firstParameter(query, 'hash') ?? '';
  return DOCUMENT_HASH.test(hash) ? [`hash=${hash.toUpperCase()}`] : [];
}

const DEFINING: ReadonlyMap<string, string> = new Map([
  ['apiextensions.k8s.io', 'customresourcedefinitions'],
  ['apiregistration.k8s.io', 'apiservices'],
]);
const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** The owner of the discovery: one tenant, or all tenants. */
export type DiscoveryChange = { readonly owner: TenantName | undefined };

/**
 * @param tenant of the user; a path may name another, for users of the system tenant
 * @returns undefined for a request that does not change discovery, as nearly all do not
 */
export function discoveryChange(
  info: RequestInfo,
  tenant: TenantName,
  mode: Pick<TenancyMode, 'isClusterWide' | 'readsTenantFromPath'>,
): DiscoveryChange | undefined {
  // Without tenants in paths discovery is forwarded, and nothing of it is cached.
  if (!mode.readsTenantFromPath) return undefined;
  if (!info.isResourceRequest || DEFINING.get(info.apiGroup) !== info.resource) return undefined;
  if (!WRITES.has(info.verb)) return undefined;
  const concerned = info.tenant === '' ? tenant : info.tenant;
  return { owner: mode.isClusterWide(info, concerned) ? undefined : concerned };
}
