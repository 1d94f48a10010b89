/**
 * A synchronisation file of k8s-keystone-auth as it was read: what a review of a token does beside answering.
 * https://github.com/kubernetes/cloud-provider-openstack/blob/master/docs/keystone-auth/using-auth-data-synchronization.md
 */
import type { TenantName } from './identity.ts';

/** What everybody with the role on their project is called, or belongs to, besides. */
export interface RoleMapping {
  readonly role: string;
  /** In place of the user's own name. */
  readonly username?: string;
  readonly groups: readonly string[];
}

export interface KeystoneSync {
  /** Whether a project's namespace is made. */
  readonly projects: boolean;
  /** Whether a user's roles become RoleBindings in it. */
  readonly roleAssignments: boolean;
  /** With `%i` (project id), `%n` (project name) and `%d` (id of the user's domain). */
  readonly namespaceFormat: string;
  /** Ids of projects that nothing is made for. */
  readonly ignoredProjects: ReadonlySet<string>;
  readonly ignoredProjectNames: ReadonlySet<string>;
  /** Each that fits applies, in order. */
  readonly roleMappings: readonly RoleMapping[];
}

/** A user on a project, as Keystone has just vouched for them, with all their roles on it. */
export interface ProjectMember {
  /** Absent where people are called by their bare names: no tenant is in those. */
  readonly tenant?: TenantName;
  /** As the API server is told: after the mapping of roles. */
  readonly username: string;
  readonly userID: string;
  /** Of the user, not of the project. */
  readonly userDomainID: string;
  readonly project: { readonly id: string; readonly name: string };
  readonly roles: readonly string[];
}
