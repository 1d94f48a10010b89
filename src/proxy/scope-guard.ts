/**
 * The last check of a request that came with an access token. An authorizer allows a list that the scope
 * covers in some namespaces only, so that the list can be filtered. It must not be forwarded unfiltered.
 */
import type { StatusError } from '../errors/status-error.ts';
import { forbidden } from '../kubernetes/forbidden.ts';
import { outsideReason } from '../rbac/scoped-rules.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { actingTenant } from './acting-tenant.ts';
import type { AuthorizationAttributes } from './authorizer.ts';
import { questionOf } from './rbac-reasons.ts';

type GuardedRequest = Pick<AuthorizationAttributes, 'info' | 'identity' | 'user' | 'tenant' | 'crossing'>;
type Mode = Pick<TenancyMode, 'reviewTenant'>;

/** @returns undefined without an access token, or if its scope allows all that the request asks for */
export function scopeRefusal(request: GuardedRequest, { reviewTenant }: Mode): StatusError | undefined {
  const { info, user, identity } = request;
  if (identity.accessToken === undefined) return undefined;
  const home = reviewTenant(actingTenant(request));
  const reason = outsideReason(identity.accessToken, questionOf(info, home ?? ''));
  return reason === undefined
    ? undefined
    : forbidden('AccessDenied', info, user.username, home, undefined, reason);
}

/** @throws StatusError AccessDenied */
export function requireScope(request: GuardedRequest, mode: Mode): void {
  const refusal = scopeRefusal(request, mode);
  if (refusal !== undefined) throw refusal;
}
