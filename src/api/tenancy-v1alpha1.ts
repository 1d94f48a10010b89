/**
 * The custom resources of the group `tenancy.stonegate.dev/v1alpha1`, as the API server stores them. Their
 * CRDs are printed by `stonegate manifests crds`; docs/tenants.md explains them.
 */
import type { NamedObjectMeta, PolicyRule } from './kubernetes-object.ts';

export const TENANCY_GROUP = 'tenancy.stonegate.dev';
export const TENANCY_VERSION = 'v1alpha1';
export const TENANCY_API_VERSION = `${TENANCY_GROUP}/${TENANCY_VERSION}` as const;

/**
 * The ValidatingWebhookConfiguration that has CrossTenantPolicies reviewed. It is an object of its own, since
 * its age says which policies were reviewed.
 */
export const POLICY_REGISTRATION = 'stonegate-policies';

/** https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Condition */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** RFC 3339. */
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

export interface PolicyStatusFields {
  readonly conditions?: readonly Condition[];
}

/** Whom a policy lets in. */
export interface CrossTenantSubject {
  readonly kind: 'User' | 'Group';
  /** The tenant to which the user belongs. */
  readonly tenant: string;
  /** Of a user: the name within the tenant, or `*` for every user of the tenant. */
  readonly name: string;
}

/**
 * Written by a tenant's administrator in their own tenant: lets users of other tenants into this one. Scope
 * `Tenant`.
 */
export interface CrossTenantPolicy {
  readonly apiVersion: typeof TENANCY_API_VERSION;
  readonly kind: 'CrossTenantPolicy';
  readonly metadata: NamedObjectMeta;
  readonly spec: {
    readonly subjects: readonly CrossTenantSubject[];
    /** Names, or `*` alone for all and for what has no namespace. */
    readonly namespaces: readonly string[];
    /** Verbs, groups and resources by name. */
    readonly rules: readonly PolicyRule[];
    /** RFC 3339; the policy has no end without it. */
    readonly notAfter?: string;
  };
  readonly status?: PolicyStatusFields;
}

/** Every condition that is present must hold; one must be present. `['*']` as names selects all. */
export interface TenantSelection {
  readonly names?: readonly string[];
  readonly matchLabels?: Readonly<Record<string, string>>;
  /** Names of Keystone domains. */
  readonly domains?: readonly string[];
}

/** Groups administer a set of tenants. The object is the system tenant's, with scope `Tenant`. */
export interface TenantAdministration {
  readonly apiVersion: typeof TENANCY_API_VERSION;
  readonly kind: 'TenantAdministration';
  readonly metadata: NamedObjectMeta;
  readonly spec: {
    readonly groups: readonly string[];
    /** The Keystone domain of the groups' users; the system tenant's users without it. */
    readonly domain?: string;
    readonly tenants: TenantSelection;
    /** One of Stonegate's, or a ClusterRole of the system tenant. */
    readonly clusterRole: string;
    /** RFC 3339. */
    readonly notAfter?: string;
    readonly reason: string;
  };
  readonly status?: PolicyStatusFields;
}
