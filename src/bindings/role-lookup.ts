/**
 * Finds out, for a person whose token names no scope, which of their roles count for a request. What is kept is one
 * entry per person with all their assignments, not one per person and project: so Keystone is asked as often as there
 * are people, however many projects they work in. Which projects and domains are switched off is one entry for all.
 *
 * Roles that cannot be learned are no roles that a person lacks: such a request ends with a 503, and is never served
 * with fewer rights in silence.
 */
import type { Identity } from '../api/identity.ts';
import { StatusError } from '../errors/status-error.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { AssignmentSource, DisabledScopes } from './assignment-source.ts';
import { withRoles } from './identity-with-roles.ts';
import type { RoleAssignment } from './keystone-directory.ts';
import {
  type HeldRoles,
  type NamespaceOf,
  type RoleScope,
  rolesInScope,
  scopeKey,
} from './roles-in-scope.ts';

/** The port to what is remembered for a while, refreshed ahead of its end. Implemented in `cache/`. */
export interface AssignmentCache<V> {
  lookup(
    key: string,
    load: () => Promise<{
      readonly value: V;
      readonly expiresAt: number;
      readonly tags: readonly string[];
    }>,
  ): Promise<V | undefined> | V | undefined;
}

export interface RoleLookupOptions {
  readonly source: AssignmentSource;
  readonly assignments: AssignmentCache<readonly RoleAssignment[]>;
  readonly disabled: AssignmentCache<DisabledScopes>;
  readonly namespaceOf: NamespaceOf;
  /** By what a person's entry may be dropped. */
  readonly tagsOf: (identity: Identity, assignments: readonly RoleAssignment[]) => readonly string[];
  /** By what the entry of all may be. */
  readonly disabledTags: readonly string[];
}

export interface RoleLookup {
  /**
   * The same object for the same person and scopes, as long as their assignments are not learned anew.
   *
   * @param identity of whom `assignmentsOf` says that their assignments count
   * @throws StatusError KeystoneUnavailable, IdentityUnusable
   */
  inScope(identity: Identity, roleScope: RoleScope): Promise<Identity>;
}

/** What Keystone says of people has no end of its own: the cache's times alone bound it. */
const NO_END = Number.MAX_SAFE_INTEGER;
const ALL = 'disabled';

export function createRoleLookup(options: RoleLookupOptions): RoleLookup {
  const { source, namespaceOf } = options;
  const made = memoizeByReference((_: Identity) =>
    memoizeByReference((_: readonly RoleAssignment[]) => new Map<string, Identity>()),
  );

  async function assignmentsOf(
    identity: Identity,
    userID: string,
  ): Promise<readonly RoleAssignment[] | undefined> {
    return options.assignments.lookup(userID, async () => {
      const value = await source.roleAssignmentsOf(userID);
      return { value, expiresAt: NO_END, tags: options.tagsOf(identity, value) };
    });
  }

  async function disabledScopes(): Promise<DisabledScopes | undefined> {
    return options.disabled.lookup(ALL, async () => ({
      value: await source.disabledScopes(),
      expiresAt: NO_END,
      tags: options.disabledTags,
    }));
  }

  function remembered(
    identity: Identity,
    assignments: readonly RoleAssignment[],
    held: readonly HeldRoles[],
  ): Identity {
    const ofPerson = made(identity)(assignments);
    const key = held.map(({ scope }) => scopeKey(scope)).join(' ');
    const known = ofPerson.get(key) ?? withRoles(identity, held);
    ofPerson.set(key, known);
    return known;
  }

  return {
    async inScope(identity, roleScope) {
      const userID = identity.assignmentsOf;
      if (userID === undefined) return identity;
      const [assignments, disabled] = await Promise.all([assignmentsOf(identity, userID), disabledScopes()]);
      if (assignments === undefined || disabled === undefined)
        throw new StatusError(
          'KeystoneUnavailable',
          "Service Unavailable: the user's roles cannot be learned",
        );
      return remembered(
        identity,
        assignments,
        rolesInScope(assignments, roleScope, { disabled, namespaceOf }),
      );
    },
  };
}
