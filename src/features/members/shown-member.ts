/**
 * What a user is shown of a member and of the grants that make one: roles and bindings that the user may not
 * list are not named.
 */
import type { SubjectFilter } from '../../proxy/subject-owner.ts';
import type { Member, RoleSource } from './member-v1alpha1.ts';
import { type FoundMember, isLevel, type MemberGrant, type MembersPlace, roleWord } from './members.ts';

/**
 * Says of a grant that the member keeps it.
 *
 * @param managed names of bindings that Stonegate makes
 */
export function noteOn(grant: MemberGrant, managed: ReadonlySet<string>, filter: SubjectFilter): string {
  const { kind, name, role } = sourceOf(grant);
  if (!filter.mayList(grant.binding.namespace))
    return 'there is another way in: a binding of the whole cluster';
  const why = managed.has(name) ? "; Stonegate creates it from Keystone's roles" : '';
  return `there is another way in: ${kind} ${name} grants ${role}${why}`;
}

function sourceOf({ binding, team }: MemberGrant): RoleSource {
  const role = roleWord(binding.roleRef);
  if (team !== undefined) return { kind: 'Team', name: team, role };
  return { kind: binding.namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding', name: binding.name, role };
}

export function shownMember(
  { id, type, name, role, owner, grants }: FoundMember,
  { namespace }: MembersPlace,
  filter: SubjectFilter,
): Member {
  const listed = grants.filter(({ binding }) => filter.mayList(binding.namespace));
  const displayName = type === 'Group' ? filter.displayName(name) : undefined;
  return {
    metadata: { name: id, namespace, creationTimestamp: null },
    // The name of any other role may tell what the user must not know.
    spec: { type, name, role: isLevel(role) || listed.length === grants.length ? role : 'another' },
    status: { owner, ...(displayName !== undefined && { displayName }), from: listed.map(sourceOf) },
  };
}
