/**
 * The one place where the scope of an access token is checked before a request is routed, however the token
 * arrived. What can be answered with a filtered response passes if the scope allows it in some namespace:
 * `proxy/delivery.ts` refuses to forward it.
 */
import { unauthorized } from '../../errors/status-error.ts';
import { forbidden } from '../../kubernetes/forbidden.ts';
import type { Question } from '../../kubernetes/token-scope.ts';
import { headerValues } from '../../lib/header-list.ts';
import type { AuthorizationAttributes, Authorizer, ExchangeFacts } from '../../proxy/authorizer.ts';
import { questionOf } from '../../proxy/rbac-reasons.ts';
import { outsideScope } from '../../rbac/scoped-rules.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { TokenStore } from './token-store.ts';

export interface ScopeAuthorizerOptions {
  readonly store: Pick<TokenStore, 'get'>;
  readonly mode: Pick<TenancyMode, 'reviewTenant'>;
  /** Called for each request with another credential. */
  readonly signedIn: (attributes: AuthorizationAttributes) => void;
}

export function createScopeAuthorizer({ store, mode, signedIn }: ScopeAuthorizerOptions): Authorizer {
  return {
    name: 'token-scope',
    authorize(attributes) {
      const { identity, info, user, impersonator, crossing, tenant, exchange } = attributes;
      const scope = identity.accessToken;
      if (scope === undefined) {
        signedIn(attributes);
        return undefined;
      }
      // A stream is in the registry by now, so that a revocation after this line ends it.
      if (store.get(scope.id)?.revoked !== undefined || store.get(scope.id) === undefined)
        throw unauthorized(`the access token ${scope.id} was revoked meanwhile`);
      const home = mode.reviewTenant(tenant) ?? '';
      const question = questionOf(info, home);
      const isGuest = crossing !== undefined;
      const lacking =
        impersonator !== undefined && !isGuest && !scope.has('+impersonate')
          ? '+impersonate'
          : isGuest && !scope.has('session')
            ? 'session'
            : undefined;
      const isInside = scope.allows(question) || isFilterable(question, scope);
      const creates = isInside && info.isResourceRequest && info.subresource === '' && isApply(exchange);
      const asked = creates ? { ...info, verb: 'create' } : info;
      if (lacking === undefined && isInside && (!creates || scope.allows(questionOf(asked, home))))
        return undefined;
      const note = `${outsideScope(scope)}${lacking === undefined ? '' : `, without ${lacking}`}`;
      throw forbidden('AccessDenied', asked, user.username, home === '' ? undefined : home, undefined, note);
    },
  };
}

/** Server-side apply creates what is missing, for which the API server reviews the owner alone. */
function isApply({ method, headers }: ExchangeFacts): boolean {
  return (
    method === 'PATCH' &&
    headerValues(headers, 'content-type').some((type) => type.toLowerCase().includes('apply-patch'))
  );
}

type Scope = NonNullable<AuthorizationAttributes['identity']['accessToken']>;

function isFilterable(question: Question, scope: Scope): boolean {
  if ('path' in question) return false;
  const { verb, namespace, name, subresource } = question;
  const isList = verb === 'list' || verb === 'watch';
  return isList && namespace === '' && name === '' && subresource === '' && scope.allowsSomewhere(question);
}
