/**
 * The sections `access` and `authorization` of a StonegateConfiguration after loading.
 * `config/schema-access.ts` parses them.
 */
import type { AuthorizationMode } from './authorization-mode.ts';
import type { PolicyRule } from './kubernetes-object.ts';
import type { TenantSelection } from './tenancy-v1alpha1.ts';

/** A list of the namespaces in which a user may do one thing. */
export interface NamedSetConfiguration {
  readonly name: string;
  readonly verb: string;
  /** Empty for the core group. */
  readonly apiGroup: string;
  readonly resource: string;
  /** Empty for the resource itself. */
  readonly subresource: string;
}

/** The RBAC index and what is answered from it. */
export interface AccessConfiguration {
  readonly index: boolean;
  /** Bytes that all objects may take; in arktos mode those of one tenant a quarter. */
  readonly maxIndexBytes: number;
  /** Empty if the operator states nothing. */
  readonly authorizers: readonly AuthorizationMode[];
  /** Whether the other authorizers may allow what RBAC does not, and deny nothing. */
  readonly othersNeverDeny: boolean;
  /** One decision in this number is compared with a review; 0: none. */
  readonly verifyOneIn: number;
  readonly selfReviews: 'none' | 'namespaces' | 'all';
  /** Of an all-namespaces request that is sent namespace by namespace. */
  readonly maxNamespaces: { readonly list: number; readonly watch: number };
  readonly namedSets: readonly NamedSetConfiguration[];
  /** What policies, administrations and published roles may grant beside the rules of `stonegate:manage`. */
  readonly grantable: readonly PolicyRule[];
}

/** A set of tenants and the groups that administer it. */
export interface AdministrationConfiguration {
  readonly name: string;
  readonly groups: readonly string[];
  /** The Keystone domain of the groups' users; the system tenant's users without it. */
  readonly domain?: string;
  readonly tenants: TenantSelection;
  /** One of Stonegate's, or a ClusterRole of the system tenant. */
  readonly clusterRole: string;
  /** Milliseconds since the epoch. */
  readonly notAfter?: number;
  readonly reason: string;
}

export interface AuthorizationConfiguration {
  /** Whether a 403 becomes a 404 if the user may not know that the object exists. */
  readonly hideForbidden: boolean;
  /** Cross-tenant policies of the operator; absent: none. */
  readonly abacPolicyFile?: string;
  /** Whether CrossTenantPolicy objects of tenants count. */
  readonly crossTenantPolicies: boolean;
  /** Administrations of the operator, beside the objects. */
  readonly administrations: readonly AdministrationConfiguration[];
  /** Whether TenantAdministration objects of the system tenant count. */
  readonly tenantAdministrations: boolean;
  /** Whether an administration without an end is refused. */
  readonly administrationsMustEnd: boolean;
}

/** Which forms of policies a configuration has. */
export interface EnabledPolicies {
  readonly abac: boolean;
  readonly crossTenantPolicies: boolean;
  /** Of the configuration. */
  readonly administrations: boolean;
  readonly tenantAdministrations: boolean;
}
