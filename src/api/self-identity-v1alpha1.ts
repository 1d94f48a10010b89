/**
 * `stonegate.dev/v1alpha1` SelfIdentity: who the caller is to Stonegate, at
 * `/apis/stonegate.dev/v1alpha1/selfidentity`. `kubectl get --raw` shows it; `stonegate whoami` and the portal read it.
 */
import type { UserInfo } from './authentication-v1.ts';
import type { ObjectMeta } from './meta-v1.ts';

export const SELF_IDENTITY_PATH = '/apis/stonegate.dev/v1alpha1/selfidentity';

export interface SelfIdentity {
  readonly kind: 'SelfIdentity';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly metadata: ObjectMeta;
  readonly status: {
    readonly user: UserInfo;
    readonly tenant: string;
    /** Which authenticator vouched: `keystone`, `jwt`, `x509`, … */
    readonly authenticator: string;
    /** What the credential is good for; absent where its source knows no scopes. */
    readonly scope?: {
      readonly kind: 'project' | 'domain' | 'system' | 'unscoped';
      readonly id?: string;
      readonly name?: string;
    };
    /** Role names on that scope. */
    readonly roles: readonly string[];
    /** RFC 3339. */
    readonly expirationTimestamp: string;
  };
}
