/**
 * Which role bindings a project or a domain gets. With `subjects: groups`, a binding names a group, and the
 * token decides who is a member, so that no binding outlives an assignment. With `subjects: users`, a
 * binding names one user, as k8s-keystone-auth does, whatever scope the user's token has.
 */

import type { KeystoneProject } from '../../identity/keystone/keystone-directory.ts';
import { scopeKey } from '../../identity/keystone/roles-in-scope.ts';
import type { Binding, RBACSubject, RoleRef } from '../../kubernetes/kubernetes-object.ts';
import type { Refusal } from '../../kubernetes/reconcile/plan.ts';
import { ownValue } from '../../lib/json-object.ts';
import { BASIC_USER_ROLE } from '../../rbac/cluster-roles.ts';
import { domainRoleGroup, projectRoleGroup } from '../../tenancy/keystone-groups.ts';
import type {
  AssignmentScope,
  DomainReference,
  RoleAssignment,
  UserReference,
} from '../../tenancy/keystone-v3.ts';
import type { BindingsConfiguration, RoleTarget } from './bindings-configuration.ts';
import { bindingMeta } from './managed-object.ts';

/** Keystone's facts about the holders of roles, by the kind of subject. */
export type Holders =
  | { readonly kind: 'groups'; readonly roleNames: readonly string[] }
  | {
      readonly kind: 'users';
      readonly assignments: readonly RoleAssignment[];
      /** Disabled users; their assignments are still listed. */
      readonly disabledUserIDs: ReadonlySet<string>;
    };

/** Warns an operator who configures `subjects: users`: continues "bindings.subjects". */
export const USERS_WARNING =
  'is users: what a person holds on a project applies to every token of theirs, also to one of another project, and is taken away by the next run only';

export interface Grant {
  /** Unique for each grant. */
  readonly purpose: string;
  readonly place: GrantPlace;
  readonly roleName: string;
  readonly target: RoleTarget;
  readonly subject: RBACSubject;
  /** Name of the user in Keystone, if the subject is a user. */
  readonly userName?: string;
}

/** The Keystone project or domain of a grant. */
export type GrantPlace = Exclude<AssignmentScope, { readonly kind: 'system' }>;

export interface Grants {
  readonly grants: readonly Grant[];
  readonly refusals: readonly Refusal[];
}

/** The user's name in the cluster, or the reason why there is none. */
export type UserNaming = (
  user: UserReference,
  scopeDomain: DomainReference,
) => { readonly name: string } | { readonly refused: string };

/** @returns a function from a project or domain to its grants; the assignments are indexed once */
export function createGrants(
  holders: Holders,
  rules: RoleRules,
  nameOf: UserNaming,
): (place: GrantPlace) => Grants {
  if (holders.kind === 'groups') {
    const roleNames = [...new Set(holders.roleNames)];
    return (place) => {
      const grants = roleNames.flatMap((roleName): Grant[] => {
        const target = targetOf(roleName, place, rules);
        const name = groupOf(place, roleName);
        return target === undefined
          ? []
          : [{ purpose: name, place, roleName, target, subject: subjectOf('Group', name) }];
      });
      return { grants, refusals: [] };
    };
  }

  const { disabledUserIDs } = holders;
  const byPlace = Map.groupBy(holders.assignments, ({ scope }) => scopeKey(scope));
  return (place) => {
    const grants = new Map<string, Grant>();
    const refusals = new Map<string, Refusal>();
    for (const { user, role } of byPlace.get(scopeKey(place)) ?? []) {
      if (disabledUserIDs.has(user.id) || rules.ignore.users.includes(user.id)) continue;
      const target = targetOf(role.name, place, rules);
      if (target === undefined) continue;
      const named = nameOf(user, domainOf(place));
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

function domainOf(place: GrantPlace): DomainReference {
  return place.kind === 'project' ? place.project.domain : place.domain;
}

function groupOf(place: GrantPlace, roleName: string): string {
  return place.kind === 'project'
    ? projectRoleGroup(place.project.id, roleName)
    : domainRoleGroup(place.domain.id, roleName);
}

function subjectOf(kind: 'Group' | 'User', name: string): RBACSubject {
  return { apiGroup: GROUP, kind, name };
}

export type RoleRules = Pick<BindingsConfiguration, 'roles' | 'projects' | 'domains' | 'ignore'>;

/**
 * The Kubernetes role of a Keystone role, with the exceptions for one project or domain. A role that is not
 * listed becomes nothing; its name means nothing by itself (`admin` of a project has no rights outside of
 * it).
 *
 * @returns undefined for a role that is not mapped
 */
function targetOf(roleName: string, place: GrantPlace, rules: RoleRules): RoleTarget | undefined {
  if (rules.ignore.roles.includes(roleName)) return undefined;
  const ofProject = place.kind === 'project' ? ownValue(rules.projects, place.project.id)?.roles : undefined;
  const ofDomain = ownValue(rules.domains, domainOf(place).id)?.roles;
  return (
    ownValue(ofProject ?? {}, roleName) ??
    ownValue(ofDomain ?? {}, roleName) ??
    ownValue(rules.roles, roleName)
  );
}

const GROUP = 'rbac.authorization.k8s.io';

/** A binding and, for the operator, the reason for it. */
export interface DesiredBinding {
  readonly object: Binding;
  readonly reason: string;
}

/**
 * @param project that owns the namespace of a RoleBinding
 * @returns the binding; a RoleBinding still lacks its namespace
 */
export function bindingOf(kind: Binding['kind'], grant: Grant, project?: KeystoneProject): DesiredBinding {
  const { purpose, place, roleName, target, subject, userName } = grant;
  const domain = domainOf(place);
  const ofUser = userName === undefined ? '' : ` of the user ${userName}`;
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
    reason: `role ${roleName}${ofUser} on ${titleOf(place.kind, place.kind === 'project' ? place.project : domain)}`,
  };
}

/** Lets all users of a tenant create self access reviews. */
export function basicUserBinding(domainID: string): DesiredBinding {
  return {
    object: {
      apiVersion: `${GROUP}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: bindingMeta('basic-user', { domainID }, {}),
      roleRef: roleRefOf({ clusterRole: BASIC_USER_ROLE }),
      subjects: [subjectOf('Group', 'system:authenticated')],
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
