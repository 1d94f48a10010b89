/**
 * The two documents of k8s-keystone-auth after parsing: the authorization policy and the synchronization
 * file.
 * https://github.com/kubernetes/cloud-provider-openstack/tree/master/docs/keystone-auth
 */
import type { TenantName } from '../../kubernetes/request-info.ts';

/** A set of namespaces or resources; `*` in a list stands for all names. */
export type NamePattern =
  | { readonly kind: 'every' }
  | { readonly kind: 'only'; readonly names: ReadonlySet<string> }
  | { readonly kind: 'except'; readonly names: ReadonlySet<string> };

/**
 * The users that an entry applies to: all of the roles, any of the projects, and any of the domains if it
 * lists some.
 */
export interface PolicyUsers {
  readonly roles: readonly string[];
  /** Names or ids. An empty list matches no user. */
  readonly projects: readonly string[];
  /** The user's domain, by name or id. */
  readonly domains?: readonly string[];
}

/** Version 1: one of the conditions, all of which must hold; any of its values satisfies it. */
export interface PolicyMatch {
  /** `user`, `group`, `project` or `role`; any other type matches no user. */
  readonly type: string;
  readonly values: ReadonlySet<string>;
}

export interface PolicyResource {
  readonly verbs: ReadonlySet<string>;
  /** `pods`, `pods/exec`, `pods/*` or `*`. */
  readonly resources: ReadonlySet<string>;
  /** Written as `version` in the file; `*` for all. */
  readonly apiGroup: string;
  /** `*` for all namespaces, and for resources without one. */
  readonly namespace: string;
}

export interface PolicyNonResource {
  readonly verbs: ReadonlySet<string>;
  /** A final `*` matches any suffix. Absent: matches no path. */
  readonly path?: string;
}

export interface ResourcePermission {
  readonly namespaces: NamePattern;
  readonly resources: NamePattern;
  readonly verbs: ReadonlySet<string>;
}

export interface PolicyEntry {
  /** Absent: every user whose token Keystone has validated. */
  readonly users?: PolicyUsers;
  /** Restricts `resource` and `nonresource` only. */
  readonly match: readonly PolicyMatch[];
  readonly resource?: PolicyResource;
  readonly nonresource?: PolicyNonResource;
  /** If present, `resource` is ignored. */
  readonly resourcePermissions?: readonly ResourcePermission[];
  /** Path → verbs. If present, `nonresource` is ignored. */
  readonly nonResourcePermissions?: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Version 1 uses an entry's `resource` and `nonresource`, version 2 its permissions. Any entry may allow,
 * none denies.
 */
export type KeystonePolicy = readonly PolicyEntry[];

/** A user name or further groups for every user with the role on their project. */
export interface RoleMapping {
  readonly role: string;
  /** Replaces the user's own name. */
  readonly username?: string;
  readonly groups: readonly string[];
}

/** What a TokenReview creates in addition to its response. */
export interface KeystoneSync {
  /** Whether a project's namespace is created. */
  readonly projects: boolean;
  /** Whether a user's roles become RoleBindings in it. */
  readonly roleAssignments: boolean;
  /** With `%i` (project id), `%n` (project name) and `%d` (id of the user's domain). */
  readonly namespaceFormat: string;
  /** Ids of projects for which nothing is created. */
  readonly ignoredProjects: ReadonlySet<string>;
  readonly ignoredProjectNames: ReadonlySet<string>;
  /** All that match apply, in order. */
  readonly roleMappings: readonly RoleMapping[];
}

/** A user of a project, as Keystone has just reported them, with all their roles on it. */
export interface ProjectMember {
  /** Absent if users have their bare names, which contain no tenant. */
  readonly tenant?: TenantName;
  /** The name sent to the API server, after role mapping. */
  readonly username: string;
  readonly userID: string;
  /** The user's domain, not the project's. */
  readonly userDomainID: string;
  readonly project: { readonly id: string; readonly name: string };
  readonly roles: readonly string[];
}
