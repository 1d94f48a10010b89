/**
 * The port to what Keystone knows of projects, domains and who holds which role where, for provisioning; what decides
 * about one person's request is asked through `assignment-source.ts`. Asked with the service credential, which needs
 * `reader` on the system. Implemented in `clients/keystone-directory.ts`.
 * https://docs.openstack.org/api-ref/identity/v3/#list-role-assignments
 */
import type { RoleReference, Scope, UserReference } from '../api/keystone-v3.ts';

export interface KeystoneDomain {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
}

export interface KeystoneProject {
  readonly id: string;
  readonly name: string;
  readonly domainID: string;
  readonly enabled: boolean;
}

export type AssignmentScope = Exclude<Scope, { kind: 'unscoped' }>;

/** One user's role on one scope, with groups, inheritance and implied roles already resolved. */
export interface RoleAssignment {
  readonly user: UserReference;
  readonly role: RoleReference;
  readonly scope: AssignmentScope;
}

export interface KeystoneDirectory {
  /**
   * All of them, disabled ones included.
   *
   * @throws StatusError KeystoneUnavailable, as every function here
   */
  domains(): Promise<readonly KeystoneDomain[]>;
  projects(): Promise<readonly KeystoneProject[]>;
  /** Ids of users who may not log in: assignments do not say so. */
  disabledUserIDs(): Promise<ReadonlySet<string>>;
  /** Of everybody, on projects and domains. */
  roleAssignments(): Promise<readonly RoleAssignment[]>;
  /** Of everybody, on one project or one domain. */
  roleAssignmentsOn(place: {
    readonly kind: 'project' | 'domain';
    readonly id: string;
  }): Promise<readonly RoleAssignment[]>;
  /** Names of all roles that are of no domain. */
  roleNames(): Promise<readonly string[]>;
}
