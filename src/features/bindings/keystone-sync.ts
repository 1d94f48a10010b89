/**
 * The synchronization file of k8s-keystone-auth after parsing, and the users whom it concerns.
 * https://github.com/kubernetes/cloud-provider-openstack/tree/master/docs/keystone-auth
 */
import type { TenantName } from '../../kubernetes/request-info.ts';

/** A user name or further groups for every user with the role on their project. */
export interface RoleMapping {
  readonly role: string;
  /** Replaces the user's own name. */
  readonly username?: string;
  readonly groups: readonly string[];
}

/** The objects that a TokenReview creates in addition to its response. */
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

/** Rules that are read again while they are in use. */
export interface Live<T> {
  /** The last valid ones; undefined before the first read. */
  readonly current: T | undefined;
}
