/**
 * Keystone v3: the parts of a validated token that determine the user, the tenant and the roles.
 * https://docs.openstack.org/api-ref/identity/v3/#validate-and-show-information-for-token
 */

/**
 * The characters of the tokens that Keystone issues (Fernet, JWS). Keystone's decoder ignores other
 * characters, so without this check one token would have any number of spellings. 16 KiB is enough for 500
 * federated groups.
 */
export const TOKEN_SPELLING = /^[A-Za-z0-9_.-]{1,16384}$/;

/** The start of every Fernet token: version 0x80 and the first bytes of a time stamp, in base64. */
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

/** The scope of a token. */
export type Scope =
  | { readonly kind: 'project'; readonly project: ProjectReference }
  | { readonly kind: 'domain'; readonly domain: DomainReference }
  | { readonly kind: 'system' }
  | { readonly kind: 'unscoped' };

/** The delegation by which a token was issued, if it does not simply have its user's rights. */
export type Delegation =
  | { readonly kind: 'application-credential'; readonly id: string }
  | {
      readonly kind: 'trust';
      readonly id: string;
      readonly trusteeUserID: string;
      readonly impersonation: boolean;
    };

/**
 * A token validated by Keystone, reduced to the fields that Stonegate uses. Holds no secret and may be
 * cached.
 */
export interface KeystoneToken {
  readonly user: UserReference;
  readonly scope: Scope;
  readonly roles: readonly RoleReference[];
  /** Ids of the federated groups frozen into the token; empty for local users. */
  readonly federatedGroups: readonly string[];
  readonly delegation?: Delegation;
  readonly methods: readonly string[];
  /** The first identifies the token, whose string may have several spellings. */
  readonly auditIDs: readonly string[];
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
  /** Milliseconds since the epoch; the token is invalid from that millisecond on. */
  readonly expiresAt: number;
}

/**
 * Revokes every token to which all of the ids apply.
 * https://docs.openstack.org/api-ref/identity/v3-ext/#list-revocation-events
 */
export interface RevocationEvent {
  /** Identifies the event. */
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
