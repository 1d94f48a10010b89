/**
 * The closed list of what Stonegate fetches as itself: paths the API server shows to no tenant and every client
 * needs. https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */
import { parameterName } from '../lib/query.ts';
import type { Reduction } from './tenancy-mode.ts';

export interface DiscoveryPath {
  readonly reduce: Reduction;
  /** Whether the document differs per tenant, and the API server is told which. */
  readonly perTenant: boolean;
}

const SHARED: DiscoveryPath = { reduce: 'none', perTenant: false };
const GROUP = '[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?';
const VERSION = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';

const PATHS: readonly (readonly [RegExp, DiscoveryPath])[] = [
  [/^\/api$/, SHARED],
  [/^\/api\/v1$/, { reduce: 'resources', perTenant: false }],
  [/^\/apis$/, { reduce: 'groups', perTenant: true }],
  [new RegExp(`^/apis/${GROUP}$`), { reduce: 'none', perTenant: true }],
  [new RegExp(`^/apis/${GROUP}/${VERSION}$`), { reduce: 'resources', perTenant: true }],
  [/^\/openapi\/(?:v2|v3(?:\/.*)?)$/, SHARED],
  [/^\/(?:version|healthz|livez|readyz)$/, SHARED],
];

/** The same list as RBAC writes non-resource rules. */
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

/**
 * A client's query without any spelling of `tenant`, and with ours where there is one. Pairs whose name cannot be
 * decoded go too: they mean nothing, and nobody is to guess.
 *
 * @param tenant undefined where the API server is not to be told
 */
export function discoveryQuery(query: string, tenant: string | undefined): string {
  const kept = query.split(/[&;]/).filter((pair) => {
    const name = parameterName(pair);
    return pair !== '' && name !== undefined && name !== 'tenant';
  });
  return [...kept, ...(tenant === undefined ? [] : [`tenant=${tenant}`])].join('&');
}
