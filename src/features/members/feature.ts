/**
 * Members of namespaces, and the search for users.
 */
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { Feature } from '../../proxy/feature.ts';
import type { OwnResource } from '../../proxy/own-api.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { FeatureBuild, ProxyParts } from '../build.ts';
import { createKeystoneNames } from '../who-can/feature.ts';
import { createMembersHandler, createPeopleSearchHandler } from './handle-members.ts';
import { MEMBERS, PEOPLE_SEARCHES } from './member-v1alpha1.ts';
import { createMembersService, type MembersService } from './members-service.ts';
import { createPeopleSearch, type PeopleSearch } from './search-people.ts';
import { createMemberships } from './team-feature.ts';

export type { Invitations } from './invitations.ts';
export type { TeamFeature } from './team-feature.ts';
export type { MembersService };

export interface Members extends Feature {
  /** The portal calls it. It is undefined without the section `members`. */
  readonly source?: { readonly members: MembersService; readonly searchPeople: PeopleSearch };
}

const WITHOUT: readonly OwnResource[] = [MEMBERS, PEOPLE_SEARCHES].map((resource) => ({
  ...resource,
  unavailable: "are off: Stonegate's operator turns them on with the section members",
}));

/** @param access undefined if the configuration has no RBAC index */
export function createMembers(
  build: FeatureBuild,
  { mode, ownBodies, asIdentity }: ProxyParts,
  access: AccessIndex | undefined,
): Members {
  const { loaded, runtime, keystone } = build;
  const { members } = loaded.configuration;
  const memberships = createMemberships(build);
  if (members === undefined || memberships === undefined || access === undefined)
    return { ownResources: WITHOUT };
  const directory = keystone?.client.directory;
  const names = directory && createKeystoneNames({ directory, ...runtime });
  const { groupsOf, index } = memberships;
  const teams = { groupsOf, teamsOf: (tenant: TenantName) => index.teamsOf(tenant) };
  const options = { access, mode, requests: asIdentity, teams, keystone: names };
  const service = createMembersService(options);
  const searchPeople = createPeopleSearch({ ...options, inviteAnyone: members.inviteAnyone });
  return {
    ownResources: [
      { ...MEMBERS, handle: createMembersHandler(service, ownBodies) },
      { ...PEOPLE_SEARCHES, handle: createPeopleSearchHandler(searchPeople, ownBodies) },
    ],
    source: { members: service, searchPeople },
  };
}
