/**
 * The extra keys of identities that Stonegate sends only with the right to impersonate them. A ClusterRole that an
 * older version printed does not name them, and must go on working.
 */
import type { AuthenticationConfiguration } from '../api/config-authentication-v1alpha1.ts';
import { CREDENTIAL_ID_KEY } from '../api/reserved-names.ts';

export function optionalExtraKeysOf({ jwt }: Pick<AuthenticationConfiguration, 'jwt'>): string[] {
  return jwt.length > 0 ? [CREDENTIAL_ID_KEY] : [];
}
