/**
 * The feature `teams`: users of a tenant who are in a group together, to which roles are bound. See
 * docs/members.md.
 */
import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { operatorPlace } from '../../tenancy/places.ts';
import { defineFeature } from '../define-feature.ts';
import { OWN_TEAMS, TEAMS } from './team-v1alpha1.ts';

interface TeamsReads extends Pick<CoreConfiguration, 'tenancy' | 'upstream'> {
  readonly members?: { readonly namespace: string; readonly teamMembers: number };
}

export const teams = defineFeature({
  name: 'teams',
  sections: {},
  storedKinds: [
    {
      definition: TEAMS,
      section: 'members',
      when: ['members'],
      consequence: 'there are no teams',
    },
  ],
  ownResources: [OWN_TEAMS],
  reads: ({ members, tenancy, upstream: { server } }: TeamsReads) => ({
    known: members && { server, place: operatorPlace(members, tenancy) },
    limit: members?.teamMembers,
  }),
});

export type TeamsParts = ReturnType<typeof teams.reads>;
export type { TeamDirectory } from './team-index.ts';
export type { Teams } from './teams.ts';
