/**
 * What a tenancy mode says about the API server, for rules, manifests and the admission process, and for
 * features that choose an algorithm. Each fact means one thing and stands for no other: a mode may combine
 * them in a way that neither of these two does.
 */

export const TENANCY_MODE_NAMES = ['arktos', 'shared'] as const;
export type TenancyModeName = (typeof TENANCY_MODE_NAMES)[number];

/** Plain values, so that the parts of features may contain them. */
export type TenancyFacts = {
  /**
   * All but the cluster's own objects are stored in tenants, which the paths of objects and their metadata
   * name: each tenant has its own namespaces, roles and definitions of resources. It needs
   * `tenantsAreObjects`, since Stonegate lists the tenants.
   */
  readonly hasTenantsInPaths: boolean;
  /** The core group has a Tenant for each tenant, with UID and labels. */
  readonly tenantsAreObjects: boolean;
  /**
   * What belongs to the operator is stored in a tenant, the system tenant, whose users act in every tenant
   * and whose bindings and shared definitions count in every tenant. It needs `hasTenantsInPaths`.
   */
  readonly operatorIsATenant: boolean;
  /**
   * The API server takes what stands before the first colon of a user's name for the user's tenant, so every
   * name begins with it. Otherwise names of two tenants must differ by themselves, and a group and an extra
   * key of Stonegate's say of which tenant a user is.
   */
  readonly readsTenantFromName: boolean;
  /** A label of Stonegate's says of which tenant a namespace is. */
  readonly labelsNamespaces: boolean;
  /** Stonegate can run in the cluster, as a service account with the rights that it needs. */
  readonly runsInCluster: boolean;
  /**
   * The API server lets no user bind a role that grants more than the user has, in whichever tenant the role
   * is. Arktos compares with the system tenant's role of that name.
   */
  readonly comparesBoundRoles: boolean;
  /** Pods have Arktos' fields: networks, ports and virtual machines. */
  readonly podsHaveArktosFields: boolean;
  /** The API server calls each URL of an admission webhook only a few times a second. */
  readonly throttlesWebhooks: boolean;
  /** Tenants may register admission webhooks, each of which may delay a request by up to 30 s. */
  readonly tenantsRegisterWebhooks: boolean;
  /** The API server may know constrained impersonation (Kubernetes 1.36). */
  readonly mayConstrainImpersonation: boolean;
  /** The minor version of Kubernetes that the API server is; absent if the operator decides. */
  readonly kubernetesMinor?: number;
};

export const TENANCY_FACTS: Readonly<Record<TenancyModeName, TenancyFacts>> = {
  arktos: {
    hasTenantsInPaths: true,
    tenantsAreObjects: true,
    operatorIsATenant: true,
    readsTenantFromName: true,
    labelsNamespaces: false,
    runsInCluster: false,
    comparesBoundRoles: false,
    podsHaveArktosFields: true,
    throttlesWebhooks: true,
    tenantsRegisterWebhooks: true,
    mayConstrainImpersonation: false,
    kubernetesMinor: 15,
  },
  shared: {
    hasTenantsInPaths: false,
    tenantsAreObjects: false,
    operatorIsATenant: false,
    readsTenantFromName: false,
    labelsNamespaces: true,
    runsInCluster: true,
    comparesBoundRoles: true,
    podsHaveArktosFields: false,
    throttlesWebhooks: false,
    tenantsRegisterWebhooks: false,
    mayConstrainImpersonation: true,
  },
};
