/**
 * The closed list of what Stonegate fetches as itself: paths the API server shows to no tenant and every
 * client needs. https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */

import type { RequestInfo, TenantName } from '../kubernetes/request-info.ts';
import type { Reduction, Route, TenancyMode } from './tenancy-mode.ts';

interface DiscoveryPath {
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

export type DiscoveryRoute = Extract<Route, { kind: 'discovery' }>;

/**
 * Nothing of the client's is in the query: several clients share the response.
 *
 * @param tenant undefined if the API server has no tenants
 * @returns undefined for every other path
 */
export function discoveryRoute(path: string, tenant: TenantName | undefined): DiscoveryRoute | undefined {
  const found = PATHS.find(([pattern]) => pattern.test(path))?.[1];
  if (found === undefined) return undefined;
  const query = found.perTenant && tenant !== undefined ? `tenant=${tenant}` : '';
  return { kind: 'discovery', path, query, reduce: found.reduce };
}

/** Whether a document is the API server's health, which is never cached. */
export function isHealth(path: string): boolean {
  return HEALTH.test(path);
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
  mode: Pick<TenancyMode, 'isClusterWide' | 'facts'>,
): DiscoveryChange | undefined {
  // Without tenants in paths discovery is forwarded, and nothing of it is cached.
  if (!mode.facts.hasTenantsInPaths) return undefined;
  if (!info.isResourceRequest || DEFINING.get(info.apiGroup) !== info.resource) return undefined;
  if (!WRITES.has(info.verb)) return undefined;
  const concerned = info.tenant === '' ? tenant : info.tenant;
  return { owner: mode.isClusterWide(info, concerned) ? undefined : concerned };
}
