/**
 * Keystone v3: the parts of a validated token that decide who somebody is and what they may do.
 * https://docs.openstack.org/api-ref/identity/v3/#validate-and-show-information-for-token
 */

/**
 * How a token string may be spelt: what Keystone itself issues (Fernet, JWS). Its decoder would ignore foreign
 * characters, so that one token had endless spellings. The length leaves room for a token with 500 federated groups.
 */
export const TOKEN_SPELLING = /^[A-Za-z0-9_.-]{1,16384}$/;

/** What every Fernet token begins with: version 0x80 and the first bytes of a time stamp, in base64. */
export const FERNET_START = 'gAAAAA';

export interface DomainReference {
  readonly id: string;
  readonly name: string;
}

export interface RoleReference {
  readonly id: string;
  readonly name: string;
}

export interface ProjectReference {
  readonly id: string;
  readonly name: string;
  readonly domain: DomainReference;
}

export interface UserReference {
  readonly id: string;
  readonly name: string;
  readonly domain: DomainReference;
}

/** What a token is good for: exactly one of Keystone's scopes. */
export type Scope =
  | { readonly kind: 'project'; readonly project: ProjectReference }
  | { readonly kind: 'domain'; readonly domain: DomainReference }
  | { readonly kind: 'system' }
  | { readonly kind: 'unscoped' };

/** Whose rights a token carries when it is not simply its user's own. */
export type Delegation =
  | { readonly kind: 'application-credential'; readonly id: string }
  | {
      readonly kind: 'trust';
      readonly id: string;
      readonly trusteeUserID: string;
      readonly impersonation: boolean;
    };

/** A token that Keystone vouched for, reduced to what Stonegate uses; safe to cache, holds no secret. */
export interface KeystoneToken {
  readonly user: UserReference;
  readonly scope: Scope;
  readonly roles: readonly RoleReference[];
  /** Ids of the federated groups frozen into the token; empty for local users. */
  readonly federatedGroups: readonly string[];
  readonly delegation?: Delegation;
  readonly methods: readonly string[];
  /** The first identifies the token: its string has many spellings. */
  readonly auditIDs: readonly string[];
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
  /** Milliseconds since the epoch; the token is dead at that very millisecond. */
  readonly expiresAt: number;
}

/**
 * What Keystone says was revoked: every token to which all of the ids apply.
 * https://docs.openstack.org/api-ref/identity/v3-ext/#list-revocation-events
 */
export interface RevocationEvent {
  /** Tells it from every other event. */
  readonly digest: string;
  /** Milliseconds since the epoch. */
  readonly revokedAt: number;
  readonly auditID: string | undefined;
  readonly auditChainID: string | undefined;
  readonly trustID: string | undefined;
  readonly userID: string | undefined;
  readonly projectID: string | undefined;
  readonly domainID: string | undefined;
}
