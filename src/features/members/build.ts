/**
 * Members of namespaces: who has which role there, from the RBAC index, and the search for users. Changes are
 * made with the rights of the user who asks.
 */
import type { Feature } from '../../proxy/feature.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { PageWithForms } from '../added-forms.ts';
import type { ProxyBuild } from '../build.ts';
import type { TeamDirectory } from '../teams/feature.ts';
import type { KeystoneNames } from '../who-can/feature.ts';
import type { MembersParts } from './feature.ts';
import { createMembersHandler, createPeopleSearchHandler } from './handle-members.ts';
import { MEMBERS, PEOPLE_SEARCHES } from './member-v1alpha1.ts';
import { membersPage } from './members-page.ts';
import { createMembersService, type MembersService } from './members-service.ts';
import { createPeopleSearch } from './search-people.ts';

export interface MembersFeature extends Feature {
  /** For invitations; undefined without the section `members`, as is the next one. */
  readonly service?: MembersService;
  /** The page, whose users also invite. */
  readonly page?: PageWithForms;
}

/** What members are found with. Undefined where the configuration has no such feature. */
export interface MembersSources {
  readonly access: AccessIndex | undefined;
  readonly teams: TeamDirectory | undefined;
  readonly keystone: KeystoneNames | undefined;
}

export function createMembers(
  { parts: { search }, clock, mode, ownBodies, asIdentity }: ProxyBuild<MembersParts>,
  { access, teams, keystone }: MembersSources,
): MembersFeature {
  if (search === undefined || access === undefined || teams === undefined) return {};
  const options = { access, mode, teams, keystone, requests: asIdentity, clock };
  const service = createMembersService(options);
  const searchPeople = createPeopleSearch({ ...options, ...search });
  return {
    service,
    page: (invite) => membersPage(service, invite),
    ownResources: [
      { ...MEMBERS, handle: createMembersHandler(service, ownBodies) },
      { ...PEOPLE_SEARCHES, handle: createPeopleSearchHandler(searchPeople, ownBodies) },
    ],
  };
}
