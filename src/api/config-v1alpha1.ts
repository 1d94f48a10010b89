/**
 * `stonegate.dev/v1alpha1` StonegateConfiguration after loading: defaults filled in, durations in milliseconds,
 * paths absolute. `config/schema.ts` reads the file into this; every field is explained in
 * `docs/configuration.md`.
 */

/** A secret is never written into the configuration, only where to find it. */
export type SecretSource = { readonly fromFile: string } | { readonly fromEnv: string };

/** Milliseconds. */
type Milliseconds = number;

export interface TLSFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCAFile?: string;
}

export interface ServerConfiguration {
  /** `host:port`; port 0 lets the system choose. */
  readonly bind: string;
  readonly tls: TLSFiles;
  readonly http2: boolean;
  /** CIDRs whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  readonly workers: number | 'auto';
  readonly shutdownGrace: Milliseconds;
  readonly timeouts: {
    /** For the whole request head, the TLS handshake included. */
    readonly header: Milliseconds;
    /** For the next bytes of a request body the upstream is waiting for. */
    readonly body: Milliseconds;
    /** For the next request on a kept connection. */
    readonly idle: Milliseconds;
    /** For a client to take the next bytes of an answer that waits for it. */
    readonly stall: Milliseconds;
  };
  readonly limits: {
    readonly headerBytes: number;
    readonly bodyBytes: number;
  };
}

export type UpstreamCredential =
  | { readonly tokenFile: string }
  | { readonly certFile: string; readonly keyFile: string };

export interface UpstreamConfiguration {
  readonly server: string;
  readonly caFile?: string;
  readonly credential: UpstreamCredential;
  /** What the API server takes of request headers in all, in bytes. */
  readonly headerBytes: number;
  readonly timeouts: {
    readonly connect: Milliseconds;
    /** From the request's last byte to the response's first. */
    readonly response: Milliseconds;
  };
}

export interface TenancyConfiguration {
  readonly mode: 'arktos' | 'shared';
  readonly systemTenant: string;
  /** Keystone domain name → tenant. */
  readonly domains: Readonly<Record<string, string>>;
  /** How long a tenant's discovery documents are kept. */
  readonly discoveryTTL: Milliseconds;
}

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
}

export interface PrefixedClaim {
  readonly claim: string;
  readonly prefix: string;
}

/** The tenant is fixed, or from a claim through a map or an allow-list: never any value. */
export type JWTTenant =
  | { readonly value: string }
  | { readonly claim: string; readonly map: Readonly<Record<string, string>> }
  | { readonly claim: string; readonly allow: readonly string[] };

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
  readonly claimValidationRules: readonly { readonly claim: string; readonly requiredValue: string }[];
  readonly claimMappings: {
    readonly username: PrefixedClaim;
    readonly groups?: PrefixedClaim;
    readonly uid?: { readonly claim: string };
    readonly extra: readonly { readonly key: string; readonly claim: string }[];
  };
  readonly tenant: JWTTenant;
  readonly clockTolerance: Milliseconds;
  readonly keysMaxAge: Milliseconds;
  /** At most one fetch of keys in this time for key ids nobody has seen. */
  readonly keysRefreshInterval: Milliseconds;
}

export interface AuthenticationConfiguration {
  readonly keystone?: KeystoneConfiguration;
  readonly jwt: readonly JWTConfiguration[];
  /** Ready only when every issuer has been reached once, instead of any. */
  readonly requireAllIssuers: boolean;
}

export interface CacheConfiguration {
  readonly maxEntries: number;
  readonly redis?: {
    readonly url: SecretSource;
    readonly caFile?: string;
    /** How long a request waits for Redis before it goes on without. */
    readonly timeout: Milliseconds;
    readonly keyPrefix: string;
    readonly sentinels: readonly { readonly host: string; readonly port: number }[];
    readonly sentinelName?: string;
    readonly cluster: boolean;
  };
  /** Base64 of 32 bytes each. The first seals, all open. */
  readonly sealingKeys: readonly SecretSource[];
}

export interface LimitsConfiguration {
  readonly unknownCredentials: {
    readonly perSource: { readonly perSecond: number; readonly burst: number };
    /** Validations under way at once. */
    readonly concurrent: number;
    /** How many more may wait. */
    readonly queue: number;
    readonly queueTimeout: Milliseconds;
  };
  /** Requests of one tenant; absent means unlimited. */
  readonly perTenant?: { readonly perSecond: number; readonly burst: number };
}

export interface StonegateConfiguration {
  readonly server: ServerConfiguration;
  readonly admin: { readonly bind: string };
  readonly upstream: UpstreamConfiguration;
  readonly tenancy: TenancyConfiguration;
  readonly authentication: AuthenticationConfiguration;
  readonly cache: CacheConfiguration;
  readonly limits: LimitsConfiguration;
  /** `-` is standard output. */
  readonly audit: { readonly file: string };
  readonly log: { readonly level: 'debug' | 'info' | 'warn' | 'error' };
}
