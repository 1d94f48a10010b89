/**
 * `authentication` of the configuration after loading: by what people prove who they are.
 */
import type { Milliseconds, SecretSource } from './config-fields-v1alpha1.ts';

export type KeystoneServiceCredential =
  | { readonly applicationCredential: { readonly id: string; readonly secret: SecretSource } }
  | {
      readonly password: {
        readonly userName: string;
        readonly userDomainName: string;
        readonly password: SecretSource;
        /** What the service logs in to: Keystone refuses an unscoped service. */
        readonly scope:
          | { readonly projectName: string; readonly projectDomainName: string }
          | { readonly domainName: string }
          | { readonly system: true };
      };
    };

export interface KeystoneConfiguration {
  readonly url: string;
  readonly caFile?: string;
  /** Without it each token is validated with itself. */
  readonly serviceCredential?: KeystoneServiceCredential;
  /** `jws` makes tokens that look like JWTs; only then does one go to Keystone. */
  readonly tokenProvider: 'fernet' | 'jws';
  readonly timeout: Milliseconds;
  readonly cacheTTL: Milliseconds;
  readonly negativeCacheTTL: Milliseconds;
  /** How long beyond its TTL an entry serves while Keystone is down; never beyond the token's own expiry. */
  readonly staleIfUnavailable: Milliseconds;
  /** Absent: none are looked up. Needs `serviceCredential`. */
  readonly roleAssignments?: {
    readonly cacheTTL: Milliseconds;
    /** How long beyond its TTL an entry serves while Keystone is down. */
    readonly staleIfUnavailable: Milliseconds;
  };
  /** Not followed without `serviceCredential`. */
  readonly revocationEvents: false | { readonly interval: Milliseconds };
}

export interface PrefixedClaim {
  readonly claim: string;
  readonly prefix: string;
}

/** CEL, about `claims`. */
export interface ClaimExpression {
  readonly expression: string;
}

/** CEL that must be true: about `claims` before they are mapped, about `user` afterwards. */
export interface ExpressionRule {
  readonly expression: string;
  /** For the log, where it is not. */
  readonly message?: string;
}

/** The tenant is fixed, or from a claim through a map or an allow-list: never any value. */
export type JWTTenant =
  | { readonly value: string }
  | { readonly claim: string; readonly map: Readonly<Record<string, string>> }
  | { readonly claim: string; readonly allow: readonly string[] };

/** What of a token is refused that kube-apiserver would accept. */
export interface JWTStrictness {
  /** `email` without `email_verified: true`. */
  readonly verifiedEmail: boolean;
  /** A token for several audiences that was made for another party, by `azp`. */
  readonly authorizedParty: boolean;
  /** A token whose `typ` is another than `JWT` or `at+jwt`, or a logout token (`events`). */
  readonly tokenTypes: boolean;
  /** A member that is there twice. */
  readonly uniqueMembers: boolean;
  /** A number that is not exact, in a claim that an expression reads. */
  readonly exactNumbers: boolean;
  /** Groups that the token does not hold, but says where to find. */
  readonly completeGroups: boolean;
  /** A key that the issuer's set gives to another issuer. */
  readonly ownKeys: boolean;
  /** A user name that is nothing but its prefix. */
  readonly namedUsers: boolean;
  /** Half a character (a lone surrogate) in a claim. */
  readonly wholeCharacters: boolean;
}

export interface JWTConfiguration {
  readonly issuer: {
    readonly url: string;
    readonly discoveryURL?: string;
    readonly audiences: readonly string[];
    readonly caFile?: string;
    /** PEM, as kube-apiserver's configuration has it. */
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
  /** What names by expression begin with; those by claim have a prefix of their own. */
  readonly usernamePrefix?: string;
  readonly groupsPrefix?: string;
  readonly tenant: JWTTenant;
  readonly strict: JWTStrictness;
  /** It is of kube-apiserver's file: what its server refuses is a 401 here too. */
  readonly asKubernetes: boolean;
  readonly clockTolerance: Milliseconds;
  readonly keysMaxAge: Milliseconds;
  /** At most one fetch of keys in this time for key ids nobody has seen. */
  readonly keysRefreshInterval: Milliseconds;
}

/** What an AuthenticationConfiguration does not say of one of its issuers. */
export interface IssuerTenant {
  readonly tenant: JWTTenant;
  readonly usernamePrefix?: string;
  readonly groupsPrefix?: string;
}

/** A file of people, in the format of kube-apiserver's and Arktos' token and basic-auth files. */
export interface StaticFileConfiguration {
  readonly file: string;
  readonly usernamePrefix: string;
  readonly groupsPrefix: string;
  /** Lines that name no tenant are of the system tenant; without it they are refused. */
  readonly systemTenantByDefault: boolean;
}

/** Who shows a certificate of these authorities is whom it names. */
export interface ClientCertificatesConfiguration {
  readonly caFile: string;
  readonly usernamePrefix: string;
  readonly groupsPrefix: string;
  readonly allowSystemTenant: boolean;
}

/** Requests without any credential. */
export interface AnonymousConfiguration {
  readonly enabled: boolean;
  /** Exactly these; all where there are none. */
  readonly paths: readonly string[];
}

/** Tokens of which the API server itself says whose they are. */
export interface TokenReviewConfiguration {
  readonly audiences: readonly string[];
  /** Of those whose credential names none. */
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
  /** That people may ask for who act as somebody else. */
  readonly impersonationExtraKeys: readonly string[];
  readonly keystone?: KeystoneConfiguration;
  /** Of `configurationFile`, where there is one. */
  readonly jwt: readonly JWTConfiguration[];
  /** kube-apiserver's AuthenticationConfiguration, already read into `jwt` and `anonymous`. */
  readonly configurationFile?: string;
  /** Of the API server itself: no issuer may be one of these. */
  readonly serviceAccountIssuers: readonly string[];
  /** By the issuer's URL; for the issuers of that file. */
  readonly tenants: Readonly<Record<string, IssuerTenant>>;
  /** Ready only when every issuer has been reached once, instead of any. */
  readonly requireAllIssuers: boolean;
}
