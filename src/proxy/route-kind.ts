/**
 * Determines the kind of route of a request, which selects its handler. It follows from the one parse of the
 * request: handlers do not look for their own requests.
 */

import { StatusError } from '../errors/status-error.ts';
import type { RequestInfo, ResourceRequest, TenantName } from '../kubernetes/request-info.ts';
import type { Route, TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { OwnAPIRoute } from './own-api.ts';

type AnyRoute = Route | OwnAPIRoute;

/**
 * `forward` has no handler. The requests of `group-list`, `namespaces` and `all-namespaces` are forwarded too
 * if no handler is configured, or if it leaves the request to the API server.
 */
export type RouteKind = AnyRoute['kind'] | 'guest-review' | 'group-list' | 'namespaces' | 'all-namespaces';

export interface RoutedRequest {
  readonly info: RequestInfo;
  readonly exchange: { readonly method: string; readonly upgrade?: unknown };
  /** The user's own. */
  readonly tenant: TenantName;
  /** Present if the user is a guest in another tenant. */
  readonly crossing?: unknown;
}

/** The API server's documents that list groups, Stonegate's own among them. */
const GROUP_LISTS: ReadonlySet<string> = new Set(['/apis', '/apis/', '/openapi/v3']);

export function routeKind(
  request: RoutedRequest,
  route: AnyRoute,
  mode: Pick<TenancyMode, 'isSystem'>,
): RouteKind {
  switch (route.kind) {
    case 'self-review':
      return request.crossing === undefined ? 'self-review' : 'guest-review';
    case 'forward':
      return forwardedKind(request, route.path, mode);
    default:
      return route.kind;
  }
}

function forwardedKind(
  { info, exchange, tenant, crossing }: RoutedRequest,
  path: string,
  { isSystem }: Pick<TenancyMode, 'isSystem'>,
): RouteKind {
  if (!info.isResourceRequest)
    return exchange.upgrade === undefined &&
      GROUP_LISTS.has(path) &&
      (info.verb === 'get' || info.verb === 'head')
      ? 'group-list'
      : 'forward';
  const { apiGroup, apiVersion, resource, subresource, namespace, name } = info;
  // Of lists only watches can be upgraded.
  if (!isList(info) || (info.verb === 'list' && exchange.upgrade !== undefined)) return 'forward';
  // The API server refuses HEAD with 405. Guests are shown what the entered tenant's RBAC lets them list.
  if (exchange.method !== 'GET' || crossing !== undefined || subresource !== '') return 'forward';
  if (apiGroup === '' && resource === 'namespaces')
    return apiVersion === 'v1' && !isSystem(tenant) ? 'namespaces' : 'forward';
  return namespace === '' && name === '' && resource !== '' ? 'all-namespaces' : 'forward';
}

/**
 * The route of a request whose handler was chosen by its kind.
 *
 * @throws StatusError InvariantBroken
 */
export function routeAs<K extends AnyRoute['kind']>(
  { route }: { readonly route: AnyRoute },
  kind: K,
): Extract<AnyRoute, { kind: K }> {
  if (isOfKind(route, kind)) return route;
  throw noHandler();
}

function isOfKind<K extends AnyRoute['kind']>(
  route: AnyRoute,
  kind: K,
): route is Extract<AnyRoute, { kind: K }> {
  return route.kind === kind;
}

export interface ListRequest extends ResourceRequest {
  readonly verb: 'list' | 'watch';
}

/**
 * The list or watch of a request of the kind `namespaces` or `all-namespaces`.
 *
 * @throws StatusError InvariantBroken
 */
export function listRequest({ info }: Pick<RoutedRequest, 'info'>): ListRequest {
  if (info.isResourceRequest && isList(info)) return info;
  throw noHandler();
}

function isList(info: ResourceRequest): info is ListRequest {
  return info.verb === 'list' || info.verb === 'watch';
}

export function noHandler(): StatusError {
  return new StatusError('InvariantBroken', 'Internal error occurred: no handler for the request');
}
