/** The scope of an access token, as the feature creates it. */
import type { TokenRule } from '../../src/features/tokens/access-token-v1alpha1.ts';
import { createTokenScope } from '../../src/features/tokens/scope.ts';

/** @param scopes separated by spaces: `namespace/web/read +secrets` */
export function tokenScope(scopes: string, rules: readonly TokenRule[] = [], home = '') {
  const texts = scopes.split(' ').filter((text) => text !== '');
  return createTokenScope('abcd1234', { scopes: texts, rules: [...rules] }, home);
}
