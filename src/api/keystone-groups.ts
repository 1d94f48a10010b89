/**
 * What a scope of Keystone's and the roles held on it are called in Kubernetes: the same for a token that was scoped to
 * it, for roles that were looked up, and for whoever binds rights to them. Groups are named by ids, since names are
 * free text, repeat across domains and may go stale. Role names have no use without being readable, so they stand last
 * with what could confuse escaped. The extra keys and values are those of k8s-keystone-auth, names as they are.
 * https://github.com/kubernetes/cloud-provider-openstack
 */
import type { Extra } from './authentication-v1.ts';
import type { IdentityScope } from './identity.ts';
import type { RoleReference, Scope } from './keystone-v3.ts';

const IDENTITY = 'alpha.kubernetes.io/identity';

/** All of them: the API server has to be told of each before anybody can be impersonated with it. */
export const KEYSTONE_EXTRA = {
  roles: `${IDENTITY}/roles`,
  projectID: `${IDENTITY}/project/id`,
  projectName: `${IDENTITY}/project/name`,
  userDomainID: `${IDENTITY}/user/domain/id`,
  userDomainName: `${IDENTITY}/user/domain/name`,
} as const;

const SAFE_ID = /^[A-Za-z0-9_.-]{1,255}$/;
const CONTROL = /\p{Cc}/u;
/** What separates the parts of a group's name or introduces an escape, and blanks of any kind. */
const ESCAPED = /[%:\s]/gu;

/** Whether it can be part of a group's name as it is. */
export function isSafeID(id: string): boolean {
  return SAFE_ID.test(id);
}

/** Whether it can be told from every other name once it is in a header: a lone surrogate would be replaced there. */
export function isUsableName(name: string): boolean {
  return name !== '' && name.trim() === name && !CONTROL.test(name) && name.isWellFormed();
}

/** Everybody with any role on the project. */
function projectGroup(projectID: string): string {
  return `keystone:project:${projectID}`;
}

/** Everybody with that role on the project. */
export function projectRoleGroup(projectID: string, roleName: string): string {
  return roleGroup(projectGroup(projectID), roleName);
}

/** Everybody with that role on the domain itself. */
export function domainRoleGroup(domainID: string, roleName: string): string {
  return roleGroup(`keystone:domain:${domainID}`, roleName);
}

function roleGroup(place: string, roleName: string): string {
  return `${place}:role:${roleName.replace(ESCAPED, encodeURIComponent)}`;
}

/** @param scope with an id that `isSafeID`; role names that `isUsableName` */
export function scopeGroups(scope: Scope, roles: readonly RoleReference[]): string[] {
  switch (scope.kind) {
    case 'project': {
      const { id } = scope.project;
      return [projectGroup(id), ...roles.map(({ name }) => projectRoleGroup(id, name))];
    }
    case 'domain':
      return roles.map(({ name }) => domainRoleGroup(scope.domain.id, name));
    case 'system':
      return roles.map(({ name }) => roleGroup('keystone:system', name));
    case 'unscoped':
      return [];
  }
}

export function scopeExtra(scope: Scope, roles: readonly RoleReference[]): Extra {
  return {
    ...(roles.length > 0 && { [KEYSTONE_EXTRA.roles]: roles.map(({ name }) => name) }),
    ...(scope.kind === 'project' && {
      [KEYSTONE_EXTRA.projectID]: [scope.project.id],
      [KEYSTONE_EXTRA.projectName]: [scope.project.name],
    }),
  };
}

export function identityScope(scope: Scope, roles: readonly RoleReference[]): IdentityScope {
  const names = roles.map(({ name }) => name);
  switch (scope.kind) {
    case 'project':
      return { kind: 'project', id: scope.project.id, name: scope.project.name, roles: names };
    case 'domain':
      return { kind: 'domain', id: scope.domain.id, name: scope.domain.name, roles: names };
    case 'system':
    case 'unscoped':
      return { kind: scope.kind, roles: names };
  }
}
