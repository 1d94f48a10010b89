/**
 * An authorization policy of k8s-keystone-auth, version 1 and 2, as it was read: a list of entries of which any may
 * allow, and none denies. Version 2 is the `permissions` of an entry, version 1 its `resource` and `nonresource`.
 * https://github.com/kubernetes/cloud-provider-openstack/blob/master/docs/keystone-auth/using-keystone-webhook-authenticator-and-authorizer.md
 */

/** Which namespaces or resources; `*` within a list stands for all names. */
export type NamePattern =
  | { readonly kind: 'every' }
  | { readonly kind: 'only'; readonly names: ReadonlySet<string> }
  | { readonly kind: 'except'; readonly names: ReadonlySet<string> };

/** Whom an entry is for: all of the roles, any of the projects, any of the domains where it names some. */
export interface PolicyUsers {
  readonly roles: readonly string[];
  /** Names or ids. Nobody where there is none. */
  readonly projects: readonly string[];
  /** Of the user; names or ids. */
  readonly domains?: readonly string[];
}

/** Version 1: one of the conditions that must all hold, by any of its values. */
export interface PolicyMatch {
  /** `user`, `group`, `project` or `role`; any other holds for nobody. */
  readonly type: string;
  readonly values: ReadonlySet<string>;
}

export interface PolicyResource {
  readonly verbs: ReadonlySet<string>;
  /** `pods`, `pods/exec`, `pods/*` or `*`. */
  readonly resources: ReadonlySet<string>;
  /** Written as `version`; `*` for all. */
  readonly apiGroup: string;
  /** `*` for all, and for what has none. */
  readonly namespace: string;
}

export interface PolicyNonResource {
  readonly verbs: ReadonlySet<string>;
  /** A final `*` stands for any rest. Absent: no path. */
  readonly path?: string;
}

export interface ResourcePermission {
  readonly namespaces: NamePattern;
  readonly resources: NamePattern;
  readonly verbs: ReadonlySet<string>;
}

export interface PolicyEntry {
  /** Absent: everybody whom Keystone vouched for. */
  readonly users?: PolicyUsers;
  /** For `resource` and `nonresource` alone. */
  readonly match: readonly PolicyMatch[];
  readonly resource?: PolicyResource;
  readonly nonresource?: PolicyNonResource;
  /** Where it is there, `resource` counts for nothing. */
  readonly resourcePermissions?: readonly ResourcePermission[];
  /** Path → verbs. Where it is there, `nonresource` counts for nothing. */
  readonly nonResourcePermissions?: ReadonlyMap<string, ReadonlySet<string>>;
}

export type KeystonePolicy = readonly PolicyEntry[];
