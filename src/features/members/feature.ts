/**
 * Members of namespaces: who has which role there, from the RBAC index, and the search for users. Changes are
 * made with the rights of the user who asks.
 */
import { type Feature, withoutSection } from '../../proxy/feature.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { FeatureBuild, ProxyParts } from '../build.ts';
import type { TeamDirectory } from '../teams/feature.ts';
import { createKeystoneNames } from '../who-can/feature.ts';
import { createMembersHandler, createPeopleSearchHandler } from './handle-members.ts';
import { MEMBERS, PEOPLE_SEARCHES } from './member-v1alpha1.ts';
import { createMembersService, type MembersService } from './members-service.ts';
import { createPeopleSearch } from './search-people.ts';

export type { MembersService };

export interface MembersFeature extends Feature {
  /** For the portal and invitations; undefined without the section `members`. */
  readonly service?: MembersService;
}

/**
 * @param access undefined if the configuration has no RBAC index
 * @param teams undefined without the section `members`
 */
export function createMembers(
  { loaded, runtime, keystone }: FeatureBuild,
  { mode, ownBodies, asIdentity }: ProxyParts,
  access: AccessIndex | undefined,
  teams: TeamDirectory | undefined,
): MembersFeature {
  const { members: section } = loaded.configuration;
  if (section === undefined || access === undefined || teams === undefined)
    return withoutSection('members', [MEMBERS, PEOPLE_SEARCHES]);
  const directory = keystone?.client.directory;
  const options = {
    ...{ access, mode, teams, requests: asIdentity, clock: runtime.clock },
    keystone: directory && createKeystoneNames({ directory, ...runtime }),
  };
  const service = createMembersService(options);
  const searchPeople = createPeopleSearch({ ...options, inviteAnyone: section.inviteAnyone });
  return {
    service,
    ownResources: [
      { ...MEMBERS, handle: createMembersHandler(service, ownBodies) },
      { ...PEOPLE_SEARCHES, handle: createPeopleSearchHandler(searchPeople, ownBodies) },
    ],
  };
}
