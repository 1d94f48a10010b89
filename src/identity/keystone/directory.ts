/**
 * The interfaces that provisioning and the role look-up need from outside. `clients/` and `cache/` implement
 * them. Keystone is requested with the service credential, which needs `reader` on the system; the API
 * server with the provisioning credential.
 * https://docs.openstack.org/api-ref/identity/v3/#list-role-assignments
 */
import type { RoleAssignment } from '../../tenancy/keystone-v3.ts';

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

export interface KeystoneDirectory {
  /**
   * All domains, including disabled ones.
   *
   * @throws StatusError KeystoneUnavailable, as every function here
   */
  domains(): Promise<readonly KeystoneDomain[]>;
  projects(): Promise<readonly KeystoneProject[]>;
  /** Ids of disabled users; role assignments do not include this. */
  disabledUserIDs(): Promise<ReadonlySet<string>>;
  /** Role assignments of all users, on projects and domains. */
  roleAssignments(): Promise<readonly RoleAssignment[]>;
  /** Role assignments of all users, on one project or one domain. */
  roleAssignmentsOn(place: {
    readonly kind: 'project' | 'domain';
    readonly id: string;
  }): Promise<readonly RoleAssignment[]>;
  /** Names of all roles that are not specific to a domain. */
  roleNames(): Promise<readonly string[]>;
}

export interface DisabledScopes {
  readonly projectIDs: ReadonlySet<string>;
  readonly domainIDs: ReadonlySet<string>;
}

export interface AssignmentSource {
  /**
   * Disabled projects and domains: no role counts there.
   *
   * @throws StatusError KeystoneUnavailable
   */
  disabledScopes(): Promise<DisabledScopes>;
  /**
   * Role assignments of one user, on projects, domains and the system; empty for an unknown user.
   *
   * @throws StatusError KeystoneUnavailable
   */
  roleAssignmentsOf(userID: string): Promise<readonly RoleAssignment[]>;
}
