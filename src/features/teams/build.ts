/**
 * Teams: users of a tenant who are in a group together, to which roles are bound. Every process knows all
 * teams, and keeps them over a reload.
 */
import type { Handle } from '../../config/component.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import type { Feature } from '../../proxy/feature.ts';
import type { PageWithForms } from '../added-forms.ts';
import type { ProxyBuild } from '../build.ts';
import { deleteFormerObjects } from '../former-objects.ts';
import type { TenantUIDs } from '../tenant-uids.ts';
import type { TeamsParts } from './feature.ts';
import { createTeamHandler } from './handle-teams.ts';
import type { Memberships } from './memberships.ts';
import type { TeamDirectory } from './team-index.ts';
import { OWN_TEAMS, TEAMS } from './team-v1alpha1.ts';
import { Teams } from './teams.ts';
import { teamsPage } from './teams-page.ts';

export interface TeamsFeature extends Feature {
  /** For invitations; undefined without the section `members`, as are the next two. */
  readonly service?: Teams;
  /** The page, whose users also invite. */
  readonly page?: PageWithForms;
  readonly directory?: TeamDirectory;
}

/** @param memberships undefined without the section `members` */
export function createTeams(
  build: ProxyBuild<TeamsParts>,
  memberships: Handle<Memberships> | undefined,
  tenants: TenantUIDs,
): TeamsFeature {
  const { parts, provisioningUpstream: upstream, mode, ownBodies } = build;
  const { known, limit: teamMembers } = parts;
  if (known === undefined || teamMembers === undefined || upstream === undefined || memberships === undefined)
    return {};
  const { place } = known;
  const service = new Teams({
    ...{ ...build, ...memberships, teamMembers, place, tenants },
    objectsOf: (account) => createObjects(upstream, account),
  });
  deleteFormerObjects(build, [memberships, upstream], {
    ...{ kind: TEAMS, place, tenants, objects: createObjects(upstream, STONEGATE_ACCOUNT) },
    values: () => memberships.index.values(),
  });
  return {
    service,
    page: (invite) => teamsPage(service, invite),
    directory: memberships,
    ownResources: [{ ...OWN_TEAMS, handle: createTeamHandler({ ...ownBodies, mode, teams: service }) }],
  };
}
