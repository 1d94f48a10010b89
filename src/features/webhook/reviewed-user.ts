/**
 * The user in the response to a TokenReview. `qualified` is the user name of the API behind Stonegate;
 * `legacy` is the bare user name with the names of the Keystone groups, as in k8s-keystone-auth, for clusters
 * with such bindings: users of two domains may share one. Keystone can set neither a reserved name nor
 * another project's ID as a group.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { UserInfo } from '../../kubernetes/authentication-v1.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { Identity, IdentityScope } from '../../tenancy/identity.ts';
import type { KeystoneSync, ProjectMember } from '../bindings/feature.ts';

const RESERVED = /^(system|keystone|stonegate):/;
/** The form of the IDs that Keystone generates. */
const KEYSTONE_ID = /^[0-9a-f]{32}$/;
const USER_DOMAIN = 'alpha.kubernetes.io/identity/user/domain/id';

/**
 * Policies and bindings of such clusters rely on a project, so a token without one is refused.
 *
 * @throws StatusError IdentityUnusable
 */
export function projectOf({ scope }: Identity): Required<IdentityScope> {
  if (scope?.kind === 'project' && scope.id !== undefined && scope.name !== undefined) {
    return { ...scope, id: scope.id, name: scope.name };
  }
  throw new StatusError('IdentityUnusable', 'Forbidden: the token is not scoped to a project');
}

export function qualifiedUser(user: UserInfo, projectID: string): UserInfo {
  return { ...user, groups: withGroups(user.groups, [projectID]) };
}

/**
 * @param groupNames names of the user's Keystone groups
 * @throws StatusError IdentityReserved for reserved names
 */
export function legacyUser(identity: Identity, groupNames: readonly string[], projectID: string): UserInfo {
  const { subject, uid, extra } = identity;
  if (subject.kind !== 'keystone') {
    throw new StatusError('InvariantBroken', 'Internal error occurred: not a Keystone user');
  }
  refuseReserved(subject.userName, 'the user name');
  for (const group of groupNames) {
    refuseReserved(group, 'the group');
    if (KEYSTONE_ID.test(group)) throw reserved('the group', group);
  }
  return { username: subject.userName, uid, groups: withGroups(groupNames, [projectID]), extra };
}

/** Applies the mappings of the user's roles, in order: groups add up, the last user name counts. */
export function applyRoleMappings(
  user: UserInfo,
  roles: readonly string[],
  sync: KeystoneSync | undefined,
): UserInfo {
  const applicable = (sync?.roleMappings ?? []).filter(({ role }) => roles.includes(role));
  const username =
    applicable.findLast((mapping) => mapping.username !== undefined)?.username ?? user.username;
  const groups = withGroups(
    user.groups,
    applicable.flatMap((mapping) => mapping.groups),
  );
  return { ...user, username, groups };
}

/** @returns undefined for a delegated token: it may have only a part of its user's roles */
export function projectMember(
  { subject, extra, uid }: Identity,
  { id, name, roles }: Required<IdentityScope>,
  username: string,
  tenant: TenantName | undefined,
): ProjectMember | undefined {
  if (subject.kind !== 'keystone' || subject.delegation !== undefined) return undefined;
  const [userDomainID = ''] = extra[USER_DOMAIN] ?? [];
  const member = { username, userID: uid, userDomainID, project: { id, name }, roles };
  return tenant === undefined ? member : { ...member, tenant };
}

function withGroups(groups: readonly string[], more: readonly string[]): readonly string[] {
  return [...new Set([...groups, ...more])];
}

function refuseReserved(name: string, what: string): void {
  if (RESERVED.test(name)) throw reserved(what, name);
}

function reserved(what: string, name: string): StatusError {
  return new StatusError(
    'IdentityReserved',
    `this identity is refused: ${what} ${JSON.stringify(name)} is reserved`,
  );
}
