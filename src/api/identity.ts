/**
 * Who a credential proved to be, before any tenancy mode has named them. Authenticators make it, the tenancy
 * modes turn it into a tenant and a Kubernetes user: mapping stays pure and follows the configuration of the
 * moment, while only the backend's facts are cached.
 */
import type { Extra, UserInfo } from './authentication-v1.ts';
import type { DomainReference } from './keystone-v3.ts';

/** What the user's name is built from. */
export type Subject =
  | {
      readonly kind: 'keystone';
      readonly userName: string;
      readonly userDomain: DomainReference;
      /** The domain of the token's scope, or the user's own where the scope has none. */
      readonly scopeDomain: DomainReference;
      /** A delegated token gets a name of its own, so that it never inherits what the user holds by name. */
      readonly delegation?: { readonly kind: 'application-credential' | 'trust'; readonly id: string };
    }
  | {
      readonly kind: 'claim';
      /** The source's configured prefix and the name as the source gives it: an issuer's claim, a certificate, a file. */
      readonly name: string;
    }
  | {
      /** Whom the API server itself vouches for: goes through with its own token, never impersonated. */
      readonly kind: 'upstream';
      /** As the API server knows it. */
      readonly user: UserInfo;
    }
  | { readonly kind: 'anonymous' };

/**
 * Where the tenant comes from: a Keystone domain that a tenancy mode translates, or what an operator has written down
 * or signed (an issuer's configuration, a certificate, a file). Anonymous requests are of no tenant.
 */
export type TenantOrigin =
  | { readonly from: 'domain'; readonly domain: DomainReference }
  | { readonly from: 'issuer'; readonly tenant: string }
  | { readonly from: 'nowhere' };

declare const tenantName: unique symbol;
/** The name of a tenant that `tenancy/tenant-name.ts` has found fit to be one. */
export type TenantName = string & { readonly [tenantName]: true };

/** What a credential is good for. */
export interface IdentityScope {
  readonly kind: 'project' | 'domain' | 'system' | 'unscoped';
  /** Of the project or the domain. */
  readonly id?: string;
  readonly name?: string;
  /** Role names on it. */
  readonly roles: readonly string[];
}

export interface Identity {
  /** Which authenticator vouched: `keystone`, `jwt`, `x509`, `token-file`, … */
  readonly authenticator: string;
  readonly subject: Subject;
  readonly tenantOrigin: TenantOrigin;
  /** The source's own stable id; empty where it has none. */
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Extra;
  /** Absent where the source knows no scopes. To be shown; rights come from groups alone. */
  readonly scope?: IdentityScope;
  /**
   * The Keystone user whose role assignments count, by what a request concerns. Absent where the credential's own scope
   * or a delegation says what it is good for: then nobody else's and nothing more counts.
   */
  readonly assignmentsOf?: string;
  /** When the credential dies, in milliseconds since the epoch; Infinity where it has no end of its own. */
  readonly expiresAt: number;
  /** What the audit log says beside the user: trustee of a trust, Keystone's audit id of the token, … */
  readonly auditAnnotations: Readonly<Record<string, string>>;
}
