/**
 * The Kubernetes groups and extra values of a Keystone scope and its roles. Groups contain ids, because
 * names are free text, repeat across domains and change; role names come last, percent-encoded. Extra keys
 * are those of k8s-keystone-auth.
 * https://github.com/kubernetes/cloud-provider-openstack
 */
import type { Extra } from '../kubernetes/authentication-v1.ts';
import { unescaped } from '../lib/go-url.ts';
import type { IdentityScope } from './identity.ts';
import type { RoleReference, Scope } from './keystone-v3.ts';

const IDENTITY = 'alpha.kubernetes.io/identity';

/** All keys; the impersonator needs an RBAC right for each of them. */
export const KEYSTONE_EXTRA = {
  roles: `${IDENTITY}/roles`,
  projectID: `${IDENTITY}/project/id`,
  projectName: `${IDENTITY}/project/name`,
  userDomainID: `${IDENTITY}/user/domain/id`,
  userDomainName: `${IDENTITY}/user/domain/name`,
} as const;

const SAFE_ID = /^[A-Za-z0-9_.-]{1,255}$/;
const CONTROL = /\p{Cc}/u;
/** The separator of a group name's parts, the escape character, and white space. */
const ESCAPED = /[%:\s]/gu;

/** Whether the id can be part of a group's name without escaping. */
export function isSafeID(id: string): boolean {
  return SAFE_ID.test(id);
}

/** Whether the name stays unique in a header: a lone surrogate would be replaced there. */
export function isUsableName(name: string): boolean {
  return name !== '' && name.trim() === name && !CONTROL.test(name) && name.isWellFormed();
}

/** The group of all users with any role on the project. */
export function projectGroup(projectID: string): string {
  return `keystone:project:${projectID}`;
}

/** The group of all users with that role on the project. */
export function projectRoleGroup(projectID: string, roleName: string): string {
  return roleGroup(projectGroup(projectID), roleName);
}

/** The group of all users with that role on the domain itself. */
export function domainRoleGroup(domainID: string, roleName: string): string {
  return roleGroup(`keystone:domain:${domainID}`, roleName);
}

function roleGroup(place: string, roleName: string): string {
  return `${place}:role:${roleName.replace(ESCAPED, encodeURIComponent)}`;
}

/** What a group of Stonegate's says: anybody with a role, or one role, on a project, domain or the system. */
export interface KeystoneGroup {
  readonly kind: 'project' | 'domain' | 'system' | 'group';
  /** Empty for the system. */
  readonly id: string;
  /** Empty for any role, and for a group of Keystone's. */
  readonly role: string;
}

const GROUP = /^keystone:(?:(system)|(project|domain|group):([^:]+))(?::role:([^:]+))?$/;

/** @returns undefined for a group that Stonegate makes of nothing in Keystone */
export function readKeystoneGroup(group: string): KeystoneGroup | undefined {
  const [, system, kind, id = '', role = ''] = GROUP.exec(group) ?? [];
  // A role whose name is no encoded text was not written by Stonegate: it is shown as it is.
  const name = unescaped(role) ?? role;
  if (system !== undefined) return { kind: 'system', id: '', role: name };
  if (kind === 'project' || kind === 'domain' || kind === 'group') return { kind, id, role: name };
  return undefined;
}

/**
 * A group in words, such as `role member on project web`.
 *
 * @param nameOf Keystone's name of a project or domain
 * @returns undefined for another group, or if the name is not known
 */
export function keystoneGroupInWords(
  group: string,
  nameOf: (kind: 'project' | 'domain', id: string) => string | undefined,
): string | undefined {
  const read = readKeystoneGroup(group);
  if (read === undefined || read.kind === 'group') return undefined;
  const role = read.role === '' ? 'any role' : `role ${read.role}`;
  if (read.kind === 'system') return `${role} on the system`;
  const name = nameOf(read.kind, read.id);
  return name === undefined ? undefined : `${role} on ${read.kind} ${name}`;
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
