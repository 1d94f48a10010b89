/**
 * The port to what decides about one person's request: their role assignments, and which places are switched off, of
 * which assignments say nothing. Implemented in `clients/keystone-directory.ts`.
 */
import type { RoleAssignment } from './keystone-directory.ts';

export interface DisabledScopes {
  readonly projectIDs: ReadonlySet<string>;
  readonly domainIDs: ReadonlySet<string>;
}

export interface AssignmentSource {
  /**
   * Where nobody may do anything, whoever holds which role there.
   *
   * @throws StatusError KeystoneUnavailable
   */
  disabledScopes(): Promise<DisabledScopes>;
  /**
   * Of one user, on projects, domains and the system; empty for an unknown user.
   *
   * @throws StatusError KeystoneUnavailable
   */
  roleAssignmentsOf(userID: string): Promise<readonly RoleAssignment[]>;
}
