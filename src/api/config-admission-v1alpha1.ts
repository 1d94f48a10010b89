/**
 * The section `admission` of a StonegateConfiguration after loading. `config/schema-admission.ts` parses it.
 */

/** One tenant's, or the general one; absent fields are the general ones, or those of the tenancy mode. */
export interface PodSecurityConfiguration {
  readonly level?: 'privileged' | 'baseline' | 'restricted';
  /** `v1.36`. */
  readonly version?: string;
  readonly mode?: 'enforce' | 'warn';
}

/** The admission webhook: what tenants may create. */
export interface AdmissionConfiguration {
  /** `host:port`. */
  readonly bind: string;
  readonly tls: { readonly certFile: string; readonly keyFile: string; readonly clientCAFile?: string };
  /** Kinds that tenants cannot create besides nodes and DaemonSets, as `resource.group`. */
  readonly systemKinds: readonly string[];
  /** Labels of nodes that tenants may select by, besides operating system and architecture. */
  readonly nodeLabels: readonly string[];
  readonly podSecurity: PodSecurityConfiguration & {
    readonly tenants: Readonly<Record<string, PodSecurityConfiguration>>;
  };
  /** Users and service accounts that are no tenant's. */
  readonly systemUsers: readonly string[];
  /** Namespaces whose service accounts are no tenant's (shared). */
  readonly systemNamespaces: readonly string[];
  readonly limits: {
    /** Reviews of one client address. */
    readonly perSource: { readonly perSecond: number; readonly burst: number };
    /** Reviews at the same time of one client address, and four times as many in all. */
    readonly concurrent: number;
  };
}
