/**
 * Routes requests to an Arktos API server. An impersonated user's short path would be read in the tenant
 * of the impersonator, so the tenant's full path is always written out; cluster-scoped resources have no full
 * path. The tenant goes into the raw path, byte for byte, so that nothing is decoded and encoded anew.
 */
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import { forbidden } from '../kubernetes/forbidden.ts';
import type { RequestInfo, ResourceRequest, TenantName } from '../kubernetes/request-info.ts';
import { discoveryRoute } from './discovery-paths.ts';
import { selfReviewOf } from './self-review.ts';
import type { Route } from './tenancy-mode.ts';

/**
 * All that Arktos keeps once for the whole cluster, as `group/resource`; everything else belongs to tenants.
 */
export const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  '/nodes',
  '/tenants',
  '/componentstatuses',
  '/storageclusters',
  '/datapartitionconfigs',
  '/controllerinstances',
  'scheduling.k8s.io/priorityclasses',
  'node.k8s.io/runtimeclasses',
  'storage.k8s.io/csidrivers',
  'storage.k8s.io/csinodes',
  'admissionregistration.k8s.io/mutatingwebhookconfigurations',
  'admissionregistration.k8s.io/validatingwebhookconfigurations',
]);

/** Resources of which a tenant may read its own object. */
export const READABLE: ReadonlyMap<string, readonly string[]> = new Map([['/tenants', ['get', 'list']]]);

/** The groups of these that hold nothing else. */
export const CLUSTER_SCOPED_GROUPS: ReadonlySet<string> = new Set([
  'scheduling.k8s.io',
  'node.k8s.io',
  'admissionregistration.k8s.io',
]);

/** Path segments that after `tenants/T/` name the Tenant object instead of a resource of the tenant. */
const TENANT_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize']);

/** A user of the system tenant: nothing is rewritten, and RBAC decides. */
export function systemRoute(info: RequestInfo): Route {
  const target = { path: info.rawPath, query: info.rawQuery };
  const review = selfReviewOf(info);
  return review === undefined ? { kind: 'forward', ...target } : { kind: 'self-review', review, ...target };
}

/**
 * Nothing of the client's is in the path, so that no client shapes what is fetched as Stonegate.
 *
 * @returns undefined for any other request: also for the objects of other tenants, whether they exist or not
 */
export function ownTenantRoute(info: RequestInfo, method: string, tenant: TenantName): Route | undefined {
  if (!info.isResourceRequest || info.resource !== 'tenants' || method !== 'GET') return undefined;
  const { apiGroup, apiVersion, verb, subresource, namespace } = info;
  const isTenants =
    apiGroup === '' && apiVersion === 'v1' && subresource === '' && namespace === '' && info.tenant === '';
  if (!isTenants || (verb !== 'list' && (verb !== 'get' || info.name !== tenant))) return undefined;
  return { kind: 'own-tenant', path: `/api/v1/tenants/${tenant}`, query: '' };
}

/** @throws StatusError PathForbidden for what is no tenant's */
export function tenantRoute(info: RequestInfo, method: string, tenant: TenantName, user: UserInfo): Route {
  if (!info.isResourceRequest) return nonResourceRoute(info, method, tenant, user);
  const path = fullPath(info, tenant, user);
  const review = selfReviewOf(info);
  return review === undefined
    ? { kind: 'forward', path, query: info.rawQuery }
    : { kind: 'self-review', review, path, query: info.rawQuery };
}

function fullPath(info: ResourceRequest, tenant: TenantName, user: UserInfo): string {
  const { rawPath, tenantOffset, resource } = info;
  const written = info.tenant !== '' || resource === '';
  if (written || CLUSTER_SCOPED.has(`${info.apiGroup}/${resource}`)) return rawPath;
  if (info.namespace === '' && TENANT_SUBRESOURCES.has(resource))
    throw forbidden('PathForbidden', info, user.username, tenant);
  return `${rawPath.slice(0, tenantOffset)}tenants/${tenant}/${rawPath.slice(tenantOffset)}`;
}

function nonResourceRoute(info: RequestInfo, method: string, tenant: TenantName, user: UserInfo): Route {
  const route = discoveryRoute(info.rawPath, tenant);
  if (route === undefined || (method !== 'GET' && method !== 'HEAD'))
    throw forbidden('PathForbidden', info, user.username, undefined);
  return route;
}

const RESOURCES: Readonly<Record<string, string>> = {
  'apiregistration.k8s.io': 'apiservices',
  extensions:
    'daemonsets deployments ingresses networkpolicies podsecuritypolicies replicasets replicationcontrollers',
  apps: 'controllerrevisions daemonsets deployments replicasets statefulsets',
  'events.k8s.io': 'events',
  'authentication.k8s.io': 'tokenreviews selfsubjectreviews',
  'authorization.k8s.io':
    'localsubjectaccessreviews selfsubjectaccessreviews selfsubjectrulesreviews subjectaccessreviews',
  autoscaling: 'horizontalpodautoscalers',
  batch: 'cronjobs jobs',
  'certificates.k8s.io': 'certificatesigningrequests',
  'networking.k8s.io': 'ingresses networkpolicies',
  policy: 'poddisruptionbudgets podsecuritypolicies',
  'rbac.authorization.k8s.io': 'clusterrolebindings clusterroles rolebindings roles',
  'storage.k8s.io': 'csidrivers csinodes storageclasses volumeattachments',
  'admissionregistration.k8s.io': 'mutatingwebhookconfigurations validatingwebhookconfigurations',
  'apiextensions.k8s.io': 'customresourcedefinitions',
  'scheduling.k8s.io': 'priorityclasses',
  'coordination.k8s.io': 'leases',
  'node.k8s.io': 'runtimeclasses',
};

const BY_GROUP: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(RESOURCES).map(([group, names]) => [group, new Set(names.split(' '))]),
);

/** Stonegate's own group, which is never forwarded, counts as built in. */
export function isBuiltIn(group: string, resource: string): boolean {
  return group === '' || group === 'stonegate.dev' || BY_GROUP.get(group)?.has(resource) === true;
}

/**
 * Up to the tenant's name and behind it. `tenants/T`, `…/status` and `…/finalize` are the Tenant object
 * itself.
 */
const FULL_PATH =
  /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:watch\/)?tenants\/([^/]+)\/(?!(?:status|finalize)(?:\/|$))[^/]/;

/** @param path without its query, of a form that `proxy/request/request-target.ts` lets through */
export function isWithinTenant(path: string, tenant: TenantName): boolean {
  return FULL_PATH.exec(path)?.[1] === tenant;
}
