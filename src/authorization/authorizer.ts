/**
 * What an authorizer is: it refuses by throwing, or has no opinion. The API server's own RBAC has the last word
 * on everything that is let through, so that there is nothing here to allow.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { TenantName } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import type { Sender } from '../api/sender.ts';

export interface AuthorizationAttributes {
  readonly info: RequestInfo;
  readonly method: string;
  readonly user: UserInfo;
  readonly tenant: TenantName;
  /** With whose credential the request would go on. */
  readonly sender: Sender;
  /** The protocol the client wants to upgrade to, lower-cased: `spdy/3.1`, `websocket`. */
  readonly upgrade: string | undefined;
  readonly signal: AbortSignal;
}

export interface Authorizer {
  readonly name: string;
  /**
   * @returns undefined where it is content without asking anybody: nearly every request is let through by all of them
   * @throws StatusError TenantForbidden, PathForbidden or AccessDenied
   */
  authorize(attributes: AuthorizationAttributes): Promise<void> | undefined;
}

/** Every authorizer must be content; the first refusal ends it. */
export function authorize(
  authorizers: readonly Authorizer[],
  attributes: AuthorizationAttributes,
): Promise<void> | undefined {
  for (const [at, authorizer] of authorizers.entries()) {
    const asked = authorizer.authorize(attributes);
    if (asked !== undefined) return asked.then(() => authorize(authorizers.slice(at + 1), attributes));
  }
  return undefined;
}
