/**
 * `stonegate.dev/v1alpha1` StonegateConfiguration after loading: defaults filled in, durations in
 * milliseconds, paths absolute. `config/schema.ts` parses the file into this type; `docs/configuration.md`
 * explains every field.
 */
import type { AccessConfiguration, AuthorizationConfiguration } from './config-access-v1alpha1.ts';
import type { AdmissionConfiguration } from './config-admission-v1alpha1.ts';
import type {
  AuthenticationConfiguration,
  CredentialFiles,
  Milliseconds,
  SecretSource,
} from './config-authentication-v1alpha1.ts';
import type { PublishingConfiguration } from './config-publishing-v1alpha1.ts';

export type * from './config-access-v1alpha1.ts';
export type * from './config-admission-v1alpha1.ts';
export type * from './config-authentication-v1alpha1.ts';
export type * from './config-publishing-v1alpha1.ts';

export interface TLSFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCAFile?: string;
}

export interface ServerConfiguration {
  /** `host:port`; with port 0 the system chooses a free port. */
  readonly bind: string;
  readonly tls: TLSFiles;
  readonly http2: boolean;
  /** CIDRs of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
  readonly workers: number | 'auto';
  readonly drain: Milliseconds;
  readonly shutdownGrace: Milliseconds;
  readonly timeouts: {
    /** For the TLS handshake and the whole request head. */
    readonly header: Milliseconds;
    /** For the next bytes of a request body while the API server waits for them. */
    readonly body: Milliseconds;
    /** For the next request on an idle connection. */
    readonly idle: Milliseconds;
    /** For a client to read the next bytes of a response. */
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
  readonly credential: CredentialFiles;
  /** The API server's limit for a request head, in bytes. */
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
  /**
   * How long a tenant's discovery documents are cached; after a change of them, for how long they are not.
   */
  readonly discoveryTTL: Milliseconds;
  /**
   * API groups whose cluster-scoped custom resources tenants may use, although all tenants share the
   * objects.
   */
  readonly sharedAPIGroups: readonly string[];
}

export interface CacheConfiguration {
  readonly maxEntries: number;
  readonly redis?: {
    readonly url: SecretSource;
    readonly caFile?: string;
    /** How long a request waits for Redis before it continues without it. */
    readonly timeout: Milliseconds;
    readonly keyPrefix: string;
    readonly sentinels: readonly { readonly host: string; readonly port: number }[];
    readonly sentinelName?: string;
    readonly cluster: boolean;
  };
  /** Base64 of 32 bytes each. The first one seals, all of them open. */
  readonly sealingKeys: readonly SecretSource[];
}

export interface LimitsConfiguration {
  readonly unknownCredentials: {
    readonly perSource: { readonly perSecond: number; readonly burst: number };
    /** Concurrent validations. */
    readonly concurrent: number;
    /** How many further validations may be queued. */
    readonly queue: number;
    readonly queueTimeout: Milliseconds;
  };
  /** Long-running requests. */
  readonly streams: {
    readonly perUser: number;
    readonly perTenant: number;
    /** Whether watches and followed logs end when their credential expires. */
    readonly endWithCredential: boolean;
    /** The credential of an open stream is validated again after at least this time. */
    readonly recheck: Milliseconds;
    /** The maximum duration of exec, attach, port-forward and proxy. */
    readonly tunnelMaxAge: Milliseconds;
  };
  /** RateLimit of one tenant's requests; absent means unlimited. */
  readonly perTenant?: { readonly perSecond: number; readonly burst: number };
  /** One tenant's requests that are queued for a connection to the API server. */
  readonly tenantQueue: { readonly requests: number; readonly bytes: number };
}

/** An issuer of `authentication.jwt` that users may sign in with at the portal. */
export interface PortalOIDCConfiguration {
  /** A unique DNS label; the last segment of the redirect URI. */
  readonly name: string;
  /** As in `authentication.jwt[].issuer.url`. */
  readonly issuer: string;
  readonly clientID: string;
  /** Without it the portal is a public client. */
  readonly clientSecret?: SecretSource;
  readonly displayName: string;
  readonly scopes: readonly string[];
  /** The client that `stonegate login` uses on users' machines; absent: `clientID`. */
  readonly kubectlClientID?: string;
  /** The redirect URI of that client on users' machines. */
  readonly kubectlRedirectURI?: string;
}

export interface PortalConfiguration {
  /** `host:port`. */
  readonly bind: string;
  /** The origin under which browsers reach the portal. */
  readonly publicURL: string;
  readonly tls: Omit<TLSFiles, 'clientCAFile'>;
  /** The cluster entry of the kubeconfig that users download. */
  readonly kubernetes: {
    readonly name: string;
    readonly server: string;
    readonly caFile?: string;
  };
  readonly oidc: readonly PortalOIDCConfiguration[];
  readonly keystone: {
    readonly enabled: boolean;
    readonly displayName: string;
    /** Keystone's URL as seen from users' machines; absent: `authentication.keystone.url`. */
    readonly publicURL?: string;
    readonly defaultDomain?: string;
  };
  readonly sessionLifetime: Milliseconds;
  readonly signInLimits: Readonly<
    Record<'perSource' | 'perUser', { readonly perSecond: number; readonly burst: number }>
  >;
}

export interface StonegateConfiguration {
  readonly server: ServerConfiguration;
  readonly admin: { readonly bind: string };
  readonly upstream: UpstreamConfiguration;
  readonly tenancy: TenancyConfiguration;
  readonly authentication: AuthenticationConfiguration;
  readonly bindings: BindingsConfiguration;
  /** Absent: nothing is published. */
  readonly publishing?: PublishingConfiguration;
  readonly access: AccessConfiguration;
  readonly authorization: AuthorizationConfiguration;
  readonly cache: CacheConfiguration;
  readonly limits: LimitsConfiguration;
  /** Absent: no such listener. */
  readonly portal?: PortalConfiguration;
  /** Absent: no such listener. */
  readonly webhook?: WebhookConfiguration;
  /** Absent: no such listener. */
  readonly admission?: AdmissionConfiguration;
  /** `-` is standard output. */
  readonly audit: { readonly file: string };
  readonly log: { readonly level: 'debug' | 'info' | 'warn' | 'error' };
}

/**
 * The role that a Keystone role is bound to: a ClusterRole, or a Role that the operator maintains in each
 * namespace.
 */
export type RoleTarget = { readonly clusterRole: string } | { readonly role: string };

/** Overrides for one project or one domain; absent fields keep the general setting. */
export interface BindingsException {
  /** Nothing is created for it; existing objects stay until the operator removes them. */
  readonly ignore?: boolean;
  /** For a project only. */
  readonly namespace?: string;
  /** Keystone role → role to bind there; roles not listed keep the general setting. */
  readonly roles?: Readonly<Record<string, RoleTarget>>;
}

/** How Keystone projects and roles become namespaces and role bindings. */
export interface BindingsConfiguration {
  readonly provision: 'none' | 'onRequest' | 'periodic';
  /** Time between two periodic runs; with `onRequest`, the time until a project is checked again. */
  readonly interval: Milliseconds;
  /**
   * For provisioning only, never the impersonator's. Required unless `provision` is none and `sync` never
   * runs.
   */
  readonly credential?: CredentialFiles;
  /** With `%n` (project name), `%i` (project id) and `%d` (id of the project's domain). */
  readonly namespaceFormat: string;
  readonly roles: Readonly<Record<string, RoleTarget>>;
  /**
   * Whether Stonegate creates and updates its own cluster roles (`stonegate:read`, …,
   * `stonegate:basic-user`).
   */
  readonly createRoles: boolean;
  /** `spec.storageClusterId` of the tenants that Stonegate creates (arktos), `0` to `63`. */
  readonly storageClusterID: string;
  /** The subject of a RoleBinding: the group of project and role or, as in k8s-keystone-auth, each user. */
  readonly subjects: 'groups' | 'users';
  /** By project id. */
  readonly projects: Readonly<Record<string, BindingsException>>;
  /** By domain id. */
  readonly domains: Readonly<Record<string, BindingsException>>;
  readonly ignore: {
    /** By name; `projects` and `domains` take ids. */
    readonly projectNames: readonly string[];
    readonly roles: readonly string[];
    /** User ids, for `subjects: users`. */
    readonly users: readonly string[];
  };
  /** The share of existing bindings, 0 to 1, above which a run deletes nothing and requires `--force`. */
  readonly maxDeletedShare: number;
}

export interface ConfigMapReference {
  readonly namespace: string;
  readonly name: string;
}

/** The source of a policy or of synchronization rules. */
export type WebhookSource = { readonly file: string } | { readonly configMap: ConfigMapReference };

/** The webhook that replaces k8s-keystone-auth. */
export interface WebhookConfiguration {
  /** `host:port`. */
  readonly bind: string;
  /** The path that reviews are posted to. */
  readonly path: string;
  readonly tls: { readonly certFile: string; readonly keyFile: string; readonly clientCAFile: string };
  /** `legacy`: the bare Keystone name, which users of two domains may share. */
  readonly usernames: 'qualified' | 'legacy';
  /** Absent: no access review is allowed. */
  readonly policy?: WebhookSource;
  /** Absent: no roles are mapped and nothing is created. */
  readonly sync?: WebhookSource;
  /** Time between two reads of a ConfigMap. */
  readonly configMapInterval: Milliseconds;
}

/** All that a process needs which serves only the admission webhook. */
export interface AdmissionProcessConfiguration
  extends Pick<StonegateConfiguration, 'tenancy' | 'admin' | 'log' | 'publishing'> {
  readonly admission: AdmissionConfiguration;
  /** Absent: no rights can be reviewed, and what needs a review is refused. */
  readonly upstream?: UpstreamConfiguration;
}
