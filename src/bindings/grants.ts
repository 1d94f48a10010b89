/**
 * Who gets which role on one project or one domain. As groups, the token decides who is in them: nobody's binding
 * outlives an assignment, and a narrower or delegated token has no more than it says. As users, each is named, as
 * k8s-keystone-auth does it: whoever proves to be that user has the role, whatever their token was scoped to.
 */

import { BASIC_USER_ROLE } from '../api/cluster-roles.ts';
import type { BindingsConfiguration, RoleTarget } from '../api/config-v1alpha1.ts';
import { domainRoleGroup, projectRoleGroup } from '../api/keystone-groups.ts';
import type { DomainReference, UserReference } from '../api/keystone-v3.ts';
import type { Binding, RBACSubject, RoleRef } from '../api/kubernetes-object.ts';
import { ownValue } from '../lib/own-value.ts';
import { bindingMeta } from './managed-object.ts';
import type { ProvisioningRefusal } from './plan.ts';
import type { AssignmentScope, KeystoneDomain, KeystoneProject, RoleAssignment } from './ports.ts';

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
  readonly refusals: readonly ProvisioningRefusal[];
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
    const refusals = new Map<string, ProvisioningRefusal>();
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

/*
 * What a Keystone role becomes, with the exceptions for one project or one domain. A role that is not listed becomes
 * nothing, and what a role is called means nothing by itself: an `admin` of a project is that project's alone.
 
 */

export type RoleRules = Pick<BindingsConfiguration, 'roles' | 'projects' | 'domains' | 'ignore'>;

/** Where a role is held: a project of a domain, or the domain itself. */
export interface RolePlace {
  readonly projectID?: string;
  readonly domainID: string;
}

/** @returns undefined for a role that becomes nothing there */
function targetOf(roleName: string, place: RolePlace, rules: RoleRules): RoleTarget | undefined {
  if (rules.ignore.roles.includes(roleName)) return undefined;
  const { projectID, domainID } = place;
  const ofProject = projectID === undefined ? undefined : ownValue(rules.projects, projectID)?.roles;
  const ofDomain = ownValue(rules.domains, domainID)?.roles;
  return (
    ownValue(ofProject ?? {}, roleName) ??
    ownValue(ofDomain ?? {}, roleName) ??
    ownValue(rules.roles, roleName)
  );
}

/*
 * A grant as the object that gives it.
 
 */

const GROUP = 'rbac.authorization.k8s.io';

/** A binding and whom it is for, in words. */
export interface DesiredBinding {
  readonly object: Binding;
  readonly reason: string;
}

interface Place {
  readonly domain: Pick<KeystoneDomain, 'id' | 'name'>;
  /** In whose namespace it is. */
  readonly project?: KeystoneProject;
}

/** @returns a RoleBinding lacks its namespace */
export function bindingOf(kind: Binding['kind'], grant: Grant, { domain, project }: Place): DesiredBinding {
  const { purpose, place, roleName, target, subject, userName } = grant;
  const person = userName === undefined ? '' : ` of the user ${userName}`;
  const where =
    place.kind === 'project' && project !== undefined
      ? titleOf('project', project)
      : titleOf('domain', domain);
  return {
    object: {
      apiVersion: `${GROUP}/v1`,
      kind,
      metadata: bindingMeta(
        purpose,
        { domainID: domain.id, ...(project && { projectID: project.id }) },
        {
          role: roleName,
          'domain-name': domain.name,
          ...(project && { 'project-name': project.name }),
          ...(userName !== undefined && { 'user-name': userName }),
        },
      ),
      roleRef: roleRefOf(target),
      subjects: [subject],
    },
    reason: `role ${roleName}${person} on ${where}`,
  };
}

/** Lets everybody of a tenant ask what they may do. */
export function basicUserBinding(domainID: string): DesiredBinding {
  return {
    object: {
      apiVersion: `${GROUP}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: bindingMeta('basic-user', { domainID }, {}),
      roleRef: roleRefOf({ clusterRole: BASIC_USER_ROLE }),
      subjects: [{ apiGroup: GROUP, kind: 'Group', name: 'system:authenticated' }],
    },
    reason: 'people may ask what they may do',
  };
}

function roleRefOf(target: RoleTarget): RoleRef {
  return 'clusterRole' in target
    ? { apiGroup: GROUP, kind: 'ClusterRole', name: target.clusterRole }
    : { apiGroup: GROUP, kind: 'Role', name: target.role };
}

/** `project web (3f…)`. */
export function titleOf(kind: 'project' | 'domain', { name, id }: { name: string; id: string }): string {
  return `${kind} ${name} (${id})`;
}
