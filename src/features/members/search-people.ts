/**
 * Completes names of users: only of those with whom the user who asks shares a namespace or a team, so that
 * no user learns who else exists. The whole name of any other finds no more than nonsense.
 */
import { namespacesAllowed, visibleNamespaces } from '../../rbac/enumerate.ts';
import { keysOfBinding, subjectOfKey } from '../../rbac/subject-key.ts';
import type { Identity } from '../../tenancy/identity.ts';
import { type MembersOptions, viewAs } from './members-service.ts';
import { groupOf } from './team-v1alpha1.ts';

const MAX_PEOPLE = 20;

export interface PeopleSearchOptions extends MembersOptions {
  /** Whether all known users of the tenant are found. */
  readonly inviteAnyone: boolean;
}

export type PeopleSearch = ReturnType<typeof createPeopleSearch>;

/** @returns finds the first names in order. It throws StatusError AccessIndexUnavailable */
export function createPeopleSearch({ inviteAnyone, ...options }: PeopleSearchOptions) {
  const { teams, access } = options;
  return async (identity: Identity, prefix: string): Promise<readonly string[]> => {
    const { tenant, subject, user, filter, objects } = await viewAs(identity, '', options);
    const { viewer } = filter;
    // What precedes the name within the tenant, which is what users type.
    const own = viewer.namePrefix ?? `${viewer.tenant}:`;
    const found = new Set<string>();
    const take = (name: string) => {
      if (name.startsWith(prefix) || (name.startsWith(own) && name.startsWith(prefix, own.length)))
        found.add(name);
    };
    const visible = namespacesAllowed(access.index, subject, visibleNamespaces(user.tenant), 'visible');
    for (const place of inviteAnyone ? objects.namespaces.keys() : visible)
      for (const binding of objects.bindingsIn(place).values())
        for (const key of keysOfBinding(binding)) {
          const { kind, name } = subjectOfKey(key);
          const isOther = user.tenant !== '' && !name.startsWith(own);
          if (kind === 'group' || name.startsWith('system:') || isOther) continue;
          if (filter.shows({ key, binding })) take(name);
        }
    const groups = new Set(teams.groupsOf(tenant, user.username));
    for (const { spec } of teams.teamsOf(tenant))
      if (inviteAnyone || groups.has(groupOf({ tenant, name: spec.name })))
        for (const name of spec.members) take(name);
    return [...found].sort().slice(0, MAX_PEOPLE);
  };
}
