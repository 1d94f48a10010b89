/**
 * The identity that an authenticator returns. The tenancy mode maps it to a tenant and a Kubernetes user.
 * Only facts from backends are cached; the mapping is pure and uses the current configuration.
 */
import type { Extra, UserInfo } from './authentication-v1.ts';
import type { DomainReference } from './keystone-v3.ts';

/** The facts from which the user's name is built. */
export type Subject =
  | {
      readonly kind: 'keystone';
      readonly userName: string;
      readonly userDomain: DomainReference;
      /** The domain of the token's scope, or the user's domain if the scope has none. */
      readonly scopeDomain: DomainReference;
      /**
       * A delegated token has its own user name, so that it never gets rights granted to the user by name.
       */
      readonly delegation?: { readonly kind: 'application-credential' | 'trust'; readonly id: string };
    }
  | {
      readonly kind: 'claim';
      /** The source's prefix and the name that the source gives: an issuer's claim, a certificate, a file. */
      readonly name: string;
    }
  | {
      /**
       * Authenticated by the API server's TokenReview: forwarded with the client's own token, never
       * impersonated.
       */
      readonly kind: 'upstream';
      /** The user as the API server returned it. */
      readonly user: UserInfo;
    }
  | { readonly kind: 'anonymous' };

/**
 * The source of the tenant: a Keystone domain that the tenancy mode maps, or a statement of the operator (an
 * issuer's configuration, a certificate, a file). Anonymous requests have no tenant.
 */
export type TenantOrigin =
  | { readonly from: 'domain'; readonly domain: DomainReference }
  | { readonly from: 'issuer'; readonly tenant: string }
  | { readonly from: 'nowhere' };

declare const tenantName: unique symbol;
/** A tenant name that `tenancy/tenant-name.ts` has validated. */
export type TenantName = string & { readonly [tenantName]: true };

/** The scope of a credential. */
export interface IdentityScope {
  readonly kind: 'project' | 'domain' | 'system' | 'unscoped';
  /** Id of the project or domain. */
  readonly id?: string;
  readonly name?: string;
  /** Role names on this scope. */
  readonly roles: readonly string[];
}

export interface Identity {
  /** The authenticator that accepted the credential: `keystone`, `jwt`, `x509`, `token-file`, … */
  readonly authenticator: string;
  readonly subject: Subject;
  readonly tenantOrigin: TenantOrigin;
  /** The source's stable id; empty if it has none. */
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Extra;
  /** Absent if the source has no scopes. For display only; rights come from groups. */
  readonly scope?: IdentityScope;
  /**
   * The Keystone user whose role assignments are looked up for the scope of each request. Absent if the
   * credential has a scope of its own or is delegated: then only the roles in the credential apply.
   */
  readonly assignmentsOf?: string;
  /** Expiry of the credential, in milliseconds since the epoch; Infinity if it has none. */
  readonly expiresAt: number;
  /** Further facts for the audit log: trustee of a trust, Keystone's audit id of the token, … */
  readonly auditAnnotations: Readonly<Record<string, string>>;
}
