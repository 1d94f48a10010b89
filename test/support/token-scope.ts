/** The scope of an access token, as the feature creates it. */
import type { TokenRule } from '../../src/features/tokens/access-token-v1alpha1.ts';
import { createTokenScope } from '../../src/features/tokens/scope.ts';
import type { TenantNamespaces } from '../../src/rbac/tenant-namespaces.ts';

/**
 * @param scopes separated by spaces: `namespace/web/read +secrets`
 * @param home by default every namespace is the tenant's
 */
export function tokenScope(
  scopes: string,
  rules: readonly TokenRule[] = [],
  home: string | TenantNamespaces = '',
) {
  const texts = scopes.split(' ').filter((text) => text !== '');
  return createTokenScope('abcd1234', { scopes: texts, rules: [...rules] }, home);
}
