/**
 * Checks the scope of an access token before a request is routed, however the token arrived. A list that can
 * be filtered is allowed if the scope covers some namespace: `proxy/delivery.ts` does not forward it
 * unfiltered.
 */
import { unauthorized } from '../../errors/status-error.ts';
import type { Question } from '../../kubernetes/authorizer-attributes.ts';
import { forbidden } from '../../kubernetes/forbidden.ts';
import type { TokenScope } from '../../kubernetes/token-scope.ts';
import { headerValues } from '../../lib/header-list.ts';
import type { AuthorizationAttributes, Authorizer } from '../../proxy/authorizer.ts';
import { questionOf } from '../../proxy/rbac-reasons.ts';
import { outsideScopeText } from '../../rbac/scoped-rules.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { AccessToken } from './token-store.ts';

export interface ScopeAuthorizerOptions {
  readonly store: { get(id: string): Pick<AccessToken, 'revoked'> | undefined };
  readonly mode: Pick<TenancyMode, 'reviewTenant'>;
  /** Called for each request with a credential of another kind. */
  readonly signedIn: (attributes: AuthorizationAttributes) => void;
}

export function createScopeAuthorizer({ store, mode, signedIn }: ScopeAuthorizerOptions): Authorizer {
  return {
    name: 'token-scope',
    authorize(attributes) {
      const { identity, info, user, tenant } = attributes;
      const scope = identity.accessToken;
      if (scope === undefined) {
        signedIn(attributes);
        return undefined;
      }
      assertNotRevoked(scope.id, store);
      const home = mode.reviewTenant(tenant);
      const question = questionOf(info, home ?? '');
      const missing = missingScope(attributes, scope);
      const isInside = scope.allows(question) || isFilterable(question, scope);
      const asked = isInside && mayCreate(attributes) ? { ...info, verb: 'create' } : info;
      if (
        missing === undefined &&
        isInside &&
        (asked === info || scope.allows(questionOf(asked, home ?? '')))
      )
        return undefined;
      const note = `${outsideScopeText(scope)}${missing === undefined ? '' : `, without ${missing}`}`;
      throw forbidden('AccessDenied', asked, user.username, home, undefined, note);
    },
  };
}

/** The stream of the request is registered by now: a revocation that is received later ends it. */
function assertNotRevoked(id: string, store: ScopeAuthorizerOptions['store']): void {
  const token = store.get(id);
  if (token === undefined || token.revoked !== undefined)
    throw unauthorized(`the access token ${id} was revoked meanwhile`);
}

/** The scope that a guest, or a request that impersonates, needs beside those for what it asks. */
function missingScope(
  { impersonator, crossing }: Pick<AuthorizationAttributes, 'impersonator' | 'crossing'>,
  scope: TokenScope,
): string | undefined {
  // A guest's request has an impersonator too.
  const needed = crossing !== undefined ? 'session' : impersonator && '+impersonate';
  return needed === undefined || scope.has(needed) ? undefined : needed;
}

/** Server-side apply creates what is missing, for which the API server reviews the owner alone. */
function mayCreate({ info, exchange }: Pick<AuthorizationAttributes, 'info' | 'exchange'>): boolean {
  const types = headerValues(exchange.headers, 'content-type');
  return (
    info.isResourceRequest &&
    info.verb === 'patch' &&
    info.subresource === '' &&
    types.some((type) => type.toLowerCase().includes('apply-patch'))
  );
}

/** Only lists of namespaces are filtered if they select a name. */
function isFilterable(question: Question, scope: TokenScope): boolean {
  if ('path' in question) return false;
  const { verb, apiGroup, resource, namespace, name, subresource } = question;
  const isList = (verb === 'list' || verb === 'watch') && namespace === '' && subresource === '';
  const isOfNamespaces = apiGroup === '' && resource === 'namespaces';
  return isList && (name === '' || isOfNamespaces) && scope.allowsSomewhere(question);
}
