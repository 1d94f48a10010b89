/**
 * Authenticates users for the portal and the webhook, with the same tenants and user names as the API.
 */

import { type Authenticator, runAuthenticators } from '../identity/authenticator.ts';
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import type { Identity, QualifiedIdentity } from '../tenancy/identity.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { qualified } from '../tenancy/user-name.ts';

/** The tenant and user that the Kubernetes API derives from an identity. */
export interface KubernetesIdentity {
  readonly tenant: TenantName;
  readonly user: UserInfo;
}

/** @throws StatusError if the identity has no tenant or no user name */
export function kubernetesIdentity(
  identity: Identity,
  mode: Pick<TenancyMode, 'tenantOf' | 'userOf'>,
): KubernetesIdentity {
  const tenant = mode.tenantOf(identity);
  return { tenant, user: mode.userOf(identity, tenant) };
}

export interface IdentitySource {
  /** @throws StatusError as the API would refuse the credential */
  authenticate(
    credential: { readonly kind: 'bearer' | 'x-auth-token'; readonly token: string },
    source: string,
  ): Promise<QualifiedIdentity>;
  /** @throws StatusError if the identity has no tenant or no user name */
  describe(identity: Identity): KubernetesIdentity;
}

export function createIdentitySource(
  authenticators: readonly Authenticator[],
  mode: TenancyMode,
): IdentitySource {
  return {
    authenticate: async (credential, source) =>
      qualified(await runAuthenticators(authenticators, credential, { source }), mode.facts),
    describe: (identity) => kubernetesIdentity(identity, mode),
  };
}
