/**
 * Completes the names of users with whom the user who asks shares a namespace or a team. Even the whole name
 * of any other user finds nothing, so that no user learns who else exists.
 */
import { namespacesAllowed, visibleNamespaces } from '../../rbac/enumerate.ts';
import { keysOfBinding, subjectOfKey } from '../../rbac/subject-key.ts';
import type { Identity } from '../../tenancy/identity.ts';
import { groupOf } from '../teams/team-v1alpha1.ts';
import { type MembersOptions, viewAs } from './members-service.ts';

const MAX_PEOPLE = 20;

export interface PeopleSearchOptions extends MembersOptions {
  /** Whether all known users of the tenant are found. */
  readonly inviteAnyone: boolean;
}

export type PeopleSearch = ReturnType<typeof createPeopleSearch>;

/** @returns a function that finds the first names in order, or throws AccessIndexUnavailable */
export function createPeopleSearch({ inviteAnyone, ...options }: PeopleSearchOptions) {
  const { teams, access } = options;
  return async (identity: Identity, prefix: string): Promise<readonly string[]> => {
    const { tenant, subject, user, filter, objects } = await viewAs(identity, '', options);
    const { viewer } = filter;
    // Users type the name without it.
    const tenantPrefix = viewer.namePrefix ?? `${viewer.tenant}:`;
    const found = new Set<string>();
    const take = (name: string) => {
      const isShort = name.startsWith(tenantPrefix) && name.startsWith(prefix, tenantPrefix.length);
      if (isShort || name.startsWith(prefix)) found.add(name);
    };
    const visible = namespacesAllowed(access.index, subject, visibleNamespaces(user.tenant), 'visible');
    for (const place of inviteAnyone ? objects.namespaces.keys() : visible)
      for (const binding of objects.bindingsIn(place).values())
        for (const key of keysOfBinding(binding)) {
          const { kind, name } = subjectOfKey(key);
          const isOfOtherTenant = user.tenant !== '' && !name.startsWith(tenantPrefix);
          if (kind === 'group' || name.startsWith('system:') || isOfOtherTenant) continue;
          if (filter.shows({ key, binding })) take(name);
        }
    const groups = new Set(teams.groupsOf(tenant, user.username));
    for (const { spec } of teams.teamsOf(tenant))
      if (inviteAnyone || groups.has(groupOf({ tenant, name: spec.name })))
        for (const name of spec.members) take(name);
    return [...found].sort().slice(0, MAX_PEOPLE);
  };
}
