/**
 * What a request asks for, as kube-apiserver's RequestInfo says it, with Arktos' tenant.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/endpoints/request#RequestInfo
 */
import type { TenantName } from './identity.ts';

export type LongRunning = 'watch' | 'log' | 'exec' | 'attach' | 'portforward' | 'proxy';

interface Target {
  /** The path exactly as the client sent it, without query; every decision and the upstream URL come from it. */
  readonly rawPath: string;
  /** What followed the `?`, exactly as sent; empty where there was none. */
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
  /** The tenant the path names; empty on a short path, and always empty where tenants are not read. */
  readonly tenant: TenantName | '';
  readonly namespace: string;
  /** Empty only for `/api/v1/watch` and its like. */
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** Where, in rawPath, `tenants/T/` belongs: after the version, or after a `watch/` or `proxy/` prefix. */
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

/** Whether a pod, a service or a node answers the request instead of the API server, which only passes it on. */
export function isWorkload(info: RequestInfo): boolean {
  return (
    info.isResourceRequest &&
    info.apiPrefix === 'api' &&
    PROXIED.has(info.resource) &&
    (info.subresource === 'proxy' || info.verb === 'proxy')
  );
}
