/**
 * `stonegate.dev/v1alpha1` StonegateConfiguration after loading: defaults filled in, durations in milliseconds,
 * paths absolute. `config/schema.ts` reads the file into this; every field is explained in
 * `docs/configuration.md`.
 */

import type { AuthenticationConfiguration } from './config-authentication-v1alpha1.ts';
import type { BindingsConfiguration } from './config-bindings-v1alpha1.ts';
import type { Milliseconds, SecretSource, UpstreamCredential } from './config-fields-v1alpha1.ts';
import type { WebhookConfiguration } from './config-webhook-v1alpha1.ts';

export type * from './config-authentication-v1alpha1.ts';
export type * from './config-bindings-v1alpha1.ts';
export type * from './config-fields-v1alpha1.ts';
export type * from './config-webhook-v1alpha1.ts';

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
  /** How long a tenant's discovery documents are kept; after a change of them, for how long they are not. */
  readonly discoveryTTL: Milliseconds;
  /** API groups whose custom resources of scope `Cluster` tenants may use, although all tenants share their objects. */
  readonly sharedAPIGroups: readonly string[];
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
  /** Long-running requests. */
  readonly streams: {
    readonly perUser: number;
    readonly perTenant: number;
    /** Whether watches and followed logs end when their credential expires. */
    readonly endWithCredential: boolean;
    /** A stream's credential is validated again after this time at the earliest. */
    readonly recheck: Milliseconds;
    /** The longest life of exec, attach, port-forward and proxy. */
    readonly tunnelMaxAge: Milliseconds;
  };
  /** Requests of one tenant; absent means unlimited. */
  readonly perTenant?: { readonly perSecond: number; readonly burst: number };
  /** Requests of one tenant that wait for a connection to the API server. */
  readonly tenantQueue: { readonly requests: number; readonly bytes: number };
}

/** An issuer of `authentication.jwt` that people may sign in with at the portal. */
export interface PortalOIDCConfiguration {
  /** A DNS label of its own: where it redirects to is called by it. */
  readonly name: string;
  /** As in `authentication.jwt[].issuer.url`. */
  readonly issuer: string;
  readonly clientID: string;
  /** Without it the portal is a public client. */
  readonly clientSecret?: SecretSource;
  readonly displayName: string;
  readonly scopes: readonly string[];
  /** The client that `stonegate login` uses on people's machines; the portal's own without it. */
  readonly kubectlClientID?: string;
  /** Where it comes back to on people's machines. */
  readonly kubectlRedirectURI?: string;
}

interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

export interface PortalConfiguration {
  /** `host:port`. */
  readonly bind: string;
  /** The origin people reach it at. */
  readonly publicURL: string;
  readonly tls: Omit<TLSFiles, 'clientCAFile'>;
  /** What goes into people's kubeconfigs. */
  readonly kubernetes: {
    readonly name: string;
    readonly server: string;
    readonly caFile?: string;
  };
  readonly oidc: readonly PortalOIDCConfiguration[];
  readonly keystone: {
    readonly enabled: boolean;
    readonly displayName: string;
    /** As people's machines reach it; `authentication.keystone.url` without it. */
    readonly publicURL?: string;
    readonly defaultDomain?: string;
  };
  readonly sessionLifetime: Milliseconds;
  readonly signInLimits: { readonly perSource: Rate; readonly perUser: Rate };
}

export interface StonegateConfiguration {
  readonly server: ServerConfiguration;
  readonly admin: { readonly bind: string };
  readonly upstream: UpstreamConfiguration;
  readonly tenancy: TenancyConfiguration;
  readonly authentication: AuthenticationConfiguration;
  readonly bindings: BindingsConfiguration;
  readonly cache: CacheConfiguration;
  readonly limits: LimitsConfiguration;
  /** Absent: there is none. */
  readonly portal?: PortalConfiguration;
  /** Absent: there is none. */
  readonly webhook?: WebhookConfiguration;
  /** `-` is standard output. */
  readonly audit: { readonly file: string };
  readonly log: { readonly level: 'debug' | 'info' | 'warn' | 'error' };
}
