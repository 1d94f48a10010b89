/**
 * The user that a review of a token answers with. `qualified` is whom the API behind Stonegate knows; `legacy` is the
 * bare name and the names of the groups in Keystone, as k8s-keystone-auth answers: users of two domains may share it,
 * so it is there for clusters whose bindings are written so already. Both have the project's id among the groups.
 *
 * A token needs a project's scope here: policies and bindings of such clusters take it for granted. What comes from
 * Keystone never becomes one of the cluster's own names, nor, as a group's name, another project's id.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity, IdentityScope, TenantName } from '../api/identity.ts';
import type { KeystoneSync, ProjectMember } from '../api/keystone-auth.ts';
import { StatusError } from '../errors/status-error.ts';

const RESERVED = /^(system|keystone|stonegate):/;
/** As Keystone makes ids of projects, users and domains. */
const KEYSTONE_ID = /^[0-9a-f]{32}$/;
const USER_DOMAIN = 'alpha.kubernetes.io/identity/user/domain/id';

/** @throws StatusError IdentityUnusable for a token without a project */
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
 * @param groupNames of the user in Keystone
 * @throws StatusError IdentityReserved for names that the cluster keeps for itself
 */
export function legacyUser(identity: Identity, groupNames: readonly string[], projectID: string): UserInfo {
  const { subject, uid, extra } = identity;
  if (subject.kind !== 'keystone') {
    throw new StatusError('InvariantBroken', 'Internal error occurred: no user of Keystone');
  }
  refuseReserved(subject.userName, 'the user name');
  for (const group of groupNames) {
    refuseReserved(group, 'the group');
    if (KEYSTONE_ID.test(group)) throw reserved('the group', group);
  }
  return { username: subject.userName, uid, groups: withGroups(groupNames, [projectID]), extra };
}

/** Names and groups by role: every mapping that fits, in order. */
export function mapped(user: UserInfo, roles: readonly string[], sync: KeystoneSync | undefined): UserInfo {
  const fitting = (sync?.roleMappings ?? []).filter(({ role }) => roles.includes(role));
  const username = fitting.findLast((mapping) => mapping.username !== undefined)?.username ?? user.username;
  const groups = withGroups(
    user.groups,
    fitting.flatMap((mapping) => mapping.groups),
  );
  return { ...user, username, groups };
}

/** @returns undefined for a delegated token: it holds a part of its user's roles, so it says nothing of the others */
export function memberOf(
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
