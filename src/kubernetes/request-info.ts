/**
 * kube-apiserver's RequestInfo, with Arktos' tenant.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/endpoints/request#RequestInfo
 */

declare const tenantName: unique symbol;
/** A tenant name that `tenancy/tenant-name.ts` has validated. */
export type TenantName = string & { readonly [tenantName]: true };

export const LONG_RUNNING = ['watch', 'log', 'exec', 'attach', 'portforward', 'proxy'] as const;
export type LongRunning = (typeof LONG_RUNNING)[number];

/** Subresources of pods that open a connection. */
export const POD_CONNECTIONS: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward']);

/** The tenant that the path's prefix `/tenants/T` addresses. */
export interface AddressedTenant {
  readonly tenant: TenantName;
  /** The prefix as the client sent it. */
  readonly prefix: string;
}

interface Target {
  /**
   * The path as the client sent it, without query and without the prefix of `addressed`. All decisions and
   * the upstream URL derive from it.
   */
  readonly rawPath: string;
  /** Present if the path began with `/tenants/T`. */
  readonly addressed?: AddressedTenant;
  /** The query as the client sent it, without `?`; empty if there is none. */
  readonly rawQuery: string;
}

export interface ResourceRequest extends Target {
  readonly isResourceRequest: true;
  /** get, list, watch, create, update, patch, delete, deletecollection, or proxy (the legacy prefix). */
  readonly verb: string;
  readonly apiPrefix: 'api' | 'apis';
  /** Empty for the core group. */
  readonly apiGroup: string;
  readonly apiVersion: string;
  /** The tenant in the path; empty for a short path, and always empty in shared mode. */
  readonly tenant: TenantName | '';
  readonly namespace: string;
  /** Empty only for paths such as `/api/v1/watch`. */
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /**
   * The offset in `rawPath` at which `tenants/T/` is inserted: after the version, or after `watch/` or
   * `proxy/`.
   */
  readonly tenantOffset: number;
  readonly longRunning?: LongRunning;
}

export interface NonResourceRequest extends Target {
  readonly isResourceRequest: false;
  /** The HTTP method in lower case. */
  readonly verb: string;
  readonly longRunning?: undefined;
}

export type RequestInfo = ResourceRequest | NonResourceRequest;

const PROXIED: ReadonlySet<string> = new Set(['pods', 'services', 'nodes']);

/** Whether the API server passes the request on to a pod, a service or a node. */
export function isWorkload(
  info:
    | Pick<NonResourceRequest, 'isResourceRequest'>
    | Pick<ResourceRequest, 'isResourceRequest' | 'apiPrefix' | 'resource' | 'subresource' | 'verb'>,
): boolean {
  return (
    info.isResourceRequest &&
    info.apiPrefix === 'api' &&
    PROXIED.has(info.resource) &&
    (info.subresource === 'proxy' || info.verb === 'proxy')
  );
}
