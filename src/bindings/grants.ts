/**
 * Who gets which role on one project or one domain. As groups, the token decides who is in them: nobody's binding
 * outlives an assignment, and a narrower or delegated token has no more than it says. As users, each is named, as
 * k8s-keystone-auth does it: whoever proves to be that user has the role, whatever their token was scoped to.
 */
import type { RoleTarget } from '../api/config-v1alpha1.ts';
import { domainRoleGroup, projectRoleGroup } from '../api/keystone-groups.ts';
import type { DomainReference, UserReference } from '../api/keystone-v3.ts';
import type { RBACSubject } from '../api/kubernetes-object.ts';
import type { AssignmentScope, RoleAssignment } from './keystone-directory.ts';
import type { Refusal } from './plan.ts';
import { type RoleRules, targetOf } from './role-mapping.ts';

/** What decides whom a binding names. */
export type Holders =
  | { readonly kind: 'groups'; readonly roleNames: readonly string[] }
  | {
      readonly kind: 'users';
      readonly assignments: readonly RoleAssignment[];
      /** Of whom an assignment does not say that they may not log in. */
      readonly disabledUserIDs: ReadonlySet<string>;
    };

/** What an operator of `subjects: users` has to know. */
export const USERS_WARNING =
  'bindings.subjects is users: what a person holds on a project counts for every token of theirs, also for one of another project, and is taken away by the next run only';

export interface Grant {
  /** Equal for no two grants. */
  readonly purpose: string;
  readonly place: GrantPlace;
  readonly roleName: string;
  readonly target: RoleTarget;
  readonly subject: RBACSubject;
  /** Of the person, where there is one. */
  readonly userName?: string;
}

/** Where the grants count. */
export type GrantPlace =
  | { readonly kind: 'project'; readonly id: string; readonly domain: DomainReference }
  | { readonly kind: 'domain'; readonly domain: DomainReference };

export interface Grants {
  readonly grants: readonly Grant[];
  readonly refusals: readonly Refusal[];
}

/** The user's name in the cluster, or why there is none. */
export type UserNaming = (
  user: UserReference,
  scopeDomain: DomainReference,
) => { readonly name: string } | { readonly refused: string };

/** @returns tells what is granted in a place; the assignments are gone through once */
export function createGrants(
  holders: Holders,
  rules: RoleRules,
  nameOf: UserNaming,
): (place: GrantPlace) => Grants {
  const ruleFor = (roleName: string, place: GrantPlace) =>
    targetOf(
      roleName,
      { domainID: place.domain.id, ...(place.kind === 'project' && { projectID: place.id }) },
      rules,
    );

  if (holders.kind === 'groups') {
    const roleNames = [...new Set(holders.roleNames)];
    return (place) => {
      const grants = roleNames.flatMap((roleName): Grant[] => {
        const target = ruleFor(roleName, place);
        const name = groupOf(place, roleName);
        return target === undefined
          ? []
          : [{ purpose: name, place, roleName, target, subject: subjectOf('Group', name) }];
      });
      return { grants, refusals: [] };
    };
  }

  const { disabledUserIDs } = holders;
  const byPlace = Map.groupBy(holders.assignments, ({ scope }) => keyOf(scope));
  return (place) => {
    const grants = new Map<string, Grant>();
    const refusals = new Map<string, Refusal>();
    for (const { user, role } of byPlace.get(keyOfPlace(place)) ?? []) {
      if (disabledUserIDs.has(user.id) || rules.ignore.users.includes(user.id)) continue;
      const target = ruleFor(role.name, place);
      if (target === undefined) continue;
      const named = nameOf(user, place.domain);
      if ('refused' in named) {
        refusals.set(user.id, { subject: `user ${user.name} (${user.id})`, reason: named.refused });
        continue;
      }
      const purpose = `${groupOf(place, role.name)}:user:${encodeURIComponent(user.id.toWellFormed())}`;
      const subject = subjectOf('User', named.name);
      grants.set(purpose, { purpose, place, roleName: role.name, target, subject, userName: user.name });
    }
    return { grants: [...grants.values()], refusals: [...refusals.values()] };
  };
}

function groupOf(place: GrantPlace, roleName: string): string {
  return place.kind === 'project'
    ? projectRoleGroup(place.id, roleName)
    : domainRoleGroup(place.domain.id, roleName);
}

function subjectOf(kind: 'Group' | 'User', name: string): RBACSubject {
  return { apiGroup: 'rbac.authorization.k8s.io', kind, name };
}

function keyOf(scope: AssignmentScope): string {
  if (scope.kind === 'project') return `project/${scope.project.id}`;
  return scope.kind === 'domain' ? `domain/${scope.domain.id}` : 'system';
}

function keyOfPlace(place: GrantPlace): string {
  return place.kind === 'project' ? `project/${place.id}` : `domain/${place.domain.id}`;
}
