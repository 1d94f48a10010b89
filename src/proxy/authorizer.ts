/**
 * An authorizer refuses by throwing, or has no opinion. The API server's own RBAC decides every request that
 * is forwarded, so there is nothing to allow here.
 */
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import type { NonResourceRequest, RequestInfo, ResourceRequest } from '../kubernetes/request-info.ts';
import type { Sender } from '../kubernetes/upstream-request.ts';
import type { HeaderList } from '../lib/header-list.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { TenantOfRequest } from './acting-tenant.ts';

export interface AuthorizationAttributes extends TenantOfRequest {
  /** The request as the client sent it. */
  readonly exchange: ExchangeFacts;
  readonly info: RequestInfo;
  readonly identity: Identity;
  readonly user: UserInfo;
  /** The user of the credential, if the request impersonates another, or is a guest's. */
  readonly impersonator?: UserInfo;
  /** The owner of the credential with which the request would be sent. */
  readonly sender: Sender;
}

export interface ExchangeFacts {
  readonly method: string;
  readonly headers: HeaderList;
  /** Present if the client requests an upgrade to this protocol, lower-cased: `spdy/3.1`, `websocket`. */
  readonly upgrade?: { readonly protocol: string };
  /** Aborted when the client disconnects; created when it is read, so only if a review is sent. */
  readonly signal: AbortSignal;
}

/** The parts of a request that RBAC decides on. */
export type DecidedInfo =
  | Pick<NonResourceRequest, 'isResourceRequest' | 'verb' | 'rawPath'>
  | Pick<
      ResourceRequest,
      'isResourceRequest' | 'verb' | 'apiGroup' | 'resource' | 'subresource' | 'namespace' | 'name' | 'tenant'
    >;

export interface Authorizer {
  readonly name: string;
  /**
   * @returns undefined if it has no objection and needs no review, as for nearly every request
   * @throws StatusError TenantForbidden, PathForbidden or AccessDenied
   */
  authorize(attributes: AuthorizationAttributes): Promise<void> | undefined;
}

/**
 * Every authorizer must allow the request; the first refusal ends the chain.
 *
 * @param from the first that has not been asked yet
 */
export function runAuthorizers(
  authorizers: readonly Authorizer[],
  attributes: AuthorizationAttributes,
  from = 0,
): Promise<void> | undefined {
  for (let at = from; at < authorizers.length; at += 1) {
    const asked = authorizers[at]?.authorize(attributes);
    if (asked !== undefined) return asked.then(() => runAuthorizers(authorizers, attributes, at + 1));
  }
  return undefined;
}
