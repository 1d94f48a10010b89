/**
 * The feature `invitations`: to namespaces and to teams. See docs/members.md.
 */
import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { operatorPlace } from '../../tenancy/places.ts';
import { defineFeature } from '../define-feature.ts';
import { OWN_ACCEPTANCES, OWN_INVITATIONS, STORED_INVITATIONS } from './invitation-v1alpha1.ts';

interface InvitationsReads extends Pick<CoreConfiguration, 'tenancy' | 'upstream'> {
  readonly members?: { readonly namespace: string };
  readonly portal?: { readonly publicURL: string };
}

export const invitations = defineFeature({
  name: 'invitations',
  sections: {},
  storedKinds: [
    {
      definition: STORED_INVITATIONS,
      section: 'members',
      when: ['members'],
      consequence: 'no user can invite',
    },
  ],
  ownResources: [OWN_INVITATIONS, OWN_ACCEPTANCES],
  reads: ({ members, tenancy, portal, upstream: { server } }: InvitationsReads) => ({
    known: members && { server, place: operatorPlace(members, tenancy) },
    portalURL: portal?.publicURL,
  }),
});

export type InvitationsParts = ReturnType<typeof invitations.reads>;
