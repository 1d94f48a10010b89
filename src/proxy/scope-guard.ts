/**
 * The last check of a request that came with an access token. An authorizer lets lists through that the
 * scope allows in some namespaces only, so that they can be filtered; nothing else may answer them.
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

/** @returns undefined if the scope allows all that the request may return or change, or there is none */
export function scopeRefusal(request: GuardedRequest, { reviewTenant }: Mode): StatusError | undefined {
  const { info, user, identity } = request;
  // Most requests have none.
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
