/**
 * `authentication` of the configuration after loading: the credentials that Stonegate accepts. With the
 * field types that other sections use too.
 */

export type KeystoneServiceCredential =
  | { readonly applicationCredential: { readonly id: string; readonly secret: SecretSource } }
  | {
      readonly password: {
        readonly userName: string;
        readonly userDomainName: string;
        readonly password: SecretSource;
        /** The scope of the service's token; Keystone refuses an unscoped service. */
        readonly scope:
          | { readonly projectName: string; readonly projectDomainName: string }
          | { readonly domainName: string }
          | { readonly system: true };
      };
    };

export interface KeystoneConfiguration {
  readonly url: string;
  readonly caFile?: string;
  /** Absent: each token is validated with itself. */
  readonly serviceCredential?: KeystoneServiceCredential;
  /** `jws` tokens look like JWTs; they are sent to Keystone only with this setting. */
  readonly tokenProvider: 'fernet' | 'jws';
  readonly timeout: Milliseconds;
  readonly cacheTTL: Milliseconds;
  readonly negativeCacheTTL: Milliseconds;
  /** How long past its TTL an entry is used while Keystone is down; never past the token's own expiry. */
  readonly staleIfUnavailable: Milliseconds;
  /** Absent: role assignments are not looked up. Needs `serviceCredential`. */
  readonly roleAssignments?: {
    readonly cacheTTL: Milliseconds;
    /** How long past its TTL an entry is used while Keystone is down. */
    readonly staleIfUnavailable: Milliseconds;
  };
  /** Ignored without `serviceCredential`. */
  readonly revocationEvents: false | { readonly interval: Milliseconds };
}

export interface PrefixedClaim {
  readonly claim: string;
  readonly prefix: string;
}

/** A CEL expression over `claims`. */
export interface ClaimExpression {
  readonly expression: string;
}

/** A CEL expression that must be true: over `claims` before they are mapped, over `user` afterwards. */
export interface ExpressionRule {
  readonly expression: string;
  /** Logged if the expression is false. */
  readonly message?: string;
}

/** A fixed tenant, or a claim restricted by a map or an allow-list; never an arbitrary claim value. */
export type JWTTenant =
  | { readonly value: string }
  | { readonly claim: string; readonly map: Readonly<Record<string, string>> }
  | { readonly claim: string; readonly allow: readonly string[] };

/** Tokens that are refused although kube-apiserver would accept them; each check can be turned off. */
export interface JWTStrictness {
  /** `email` without `email_verified: true`. */
  readonly verifiedEmail: boolean;
  /** A token for several audiences whose `azp` names another party. */
  readonly authorizedParty: boolean;
  /** A token whose `typ` is neither `JWT` nor `at+jwt`, or a logout token (`events`). */
  readonly tokenTypes: boolean;
  /** A duplicate member. */
  readonly uniqueMembers: boolean;
  /** A number beyond 2^53 in a claim that an expression reads. */
  readonly exactNumbers: boolean;
  /** Groups that the token references instead of containing them. */
  readonly completeGroups: boolean;
  /** A key that the issuer's key set assigns to another issuer. */
  readonly ownKeys: boolean;
  /** A user or group name that consists of its prefix only. */
  readonly namedUsers: boolean;
  /** A lone surrogate in a claim. */
  readonly wholeCharacters: boolean;
}

export interface JWTConfiguration {
  readonly issuer: {
    readonly url: string;
    readonly discoveryURL?: string;
    readonly audiences: readonly string[];
    readonly caFile?: string;
    /** PEM, as in kube-apiserver's configuration. */
    readonly certificateAuthority?: string;
  };
  readonly algorithms: readonly string[];
  readonly claimValidationRules: readonly (
    | { readonly claim: string; readonly requiredValue: string }
    | ExpressionRule
  )[];
  readonly claimMappings: {
    readonly username: PrefixedClaim | ClaimExpression;
    readonly groups?: PrefixedClaim | ClaimExpression;
    readonly uid?: { readonly claim: string } | ClaimExpression;
    readonly extra: readonly (
      | { readonly key: string; readonly claim: string }
      | { readonly key: string; readonly valueExpression: string }
    )[];
  };
  readonly userValidationRules: readonly ExpressionRule[];
  /**
   * The prefix that names made by an expression must have; names made from a claim have their own `prefix`.
   */
  readonly usernamePrefix?: string;
  readonly groupsPrefix?: string;
  readonly tenant: JWTTenant;
  readonly strict: JWTStrictness;
  /** The issuer comes from kube-apiserver's file: a token that kube-apiserver refuses gets 401 here too. */
  readonly asKubernetes: boolean;
  readonly clockTolerance: Milliseconds;
  readonly keysMaxAge: Milliseconds;
  /** At most one fetch of the key set in this time because of unknown key ids. */
  readonly keysRefreshInterval: Milliseconds;
}

/** What an AuthenticationConfiguration has no field for: the tenant of an issuer's users. */
export interface IssuerTenant {
  readonly tenant: JWTTenant;
  readonly usernamePrefix?: string;
  readonly groupsPrefix?: string;
}

/** A file of users, in the format of kube-apiserver's and Arktos' token and basic-auth files. */
export interface StaticFileConfiguration {
  readonly file: string;
  readonly usernamePrefix: string;
  readonly groupsPrefix: string;
  /** Whether lines without a tenant belong to the system tenant; otherwise they are refused. */
  readonly systemTenantByDefault: boolean;
}

/** The subject of a certificate issued by these authorities is the user. */
export interface ClientCertificatesConfiguration {
  readonly caFile: string;
  readonly usernamePrefix: string;
  readonly groupsPrefix: string;
  readonly allowSystemTenant: boolean;
}

/** Requests without any credential. */
export interface AnonymousConfiguration {
  readonly enabled: boolean;
  /** Exactly these paths; all paths if empty. */
  readonly paths: readonly string[];
}

/** Tokens that the API server validates by TokenReview. */
export interface TokenReviewConfiguration {
  readonly audiences: readonly string[];
  /** The tenant of users whose credential names none. */
  readonly tenant?: string;
  readonly timeout: Milliseconds;
  readonly cacheTTL: Milliseconds;
  readonly negativeCacheTTL: Milliseconds;
}

export interface AuthenticationConfiguration {
  readonly tokenReview?: TokenReviewConfiguration;
  readonly tokenFile?: StaticFileConfiguration;
  readonly basicAuthFile?: StaticFileConfiguration;
  readonly clientCertificates?: ClientCertificatesConfiguration;
  readonly anonymous: AnonymousConfiguration;
  /** Keys that a client may send in `Impersonate-Extra-…` when it impersonates another user. */
  readonly impersonationExtraKeys: readonly string[];
  readonly keystone?: KeystoneConfiguration;
  /** Read from `configurationFile` if it is set. */
  readonly jwt: readonly JWTConfiguration[];
  /** kube-apiserver's AuthenticationConfiguration, already read into `jwt` and `anonymous`. */
  readonly configurationFile?: string;
  /** The API server's own issuers for service accounts: no entry of `jwt` may be one of these. */
  readonly serviceAccountIssuers: readonly string[];
  /** By issuer URL; for the issuers of that file. */
  readonly tenants: Readonly<Record<string, IssuerTenant>>;
  /** Ready only after every issuer has been reached once; otherwise one suffices. */
  readonly requireAllIssuers: boolean;
}

/** The configuration never contains a secret, only the file or environment variable that holds it. */
export type SecretSource = { readonly fromFile: string } | { readonly fromEnv: string };

export type Milliseconds = number;

export type CredentialFiles =
  | { readonly tokenFile: string }
  | { readonly certFile: string; readonly keyFile: string };
