/**
 * The feature `members`: who has which role in a namespace, and the search for users. See docs/members.md.
 */
import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { TENANCY_GROUP } from '../../kubernetes/custom-resource.ts';
import { rule } from '../../kubernetes/right.ts';
import { defineFeature } from '../define-feature.ts';
import { needsProvisioner, type Provisioning, tenantUIDRight } from '../provisioning-credential.ts';
import { MEMBERS, PEOPLE_SEARCHES } from './member-v1alpha1.ts';
import { type MembersConfiguration, membersSchema } from './members-configuration.ts';
import { missingRoles } from './missing-roles.ts';

interface MembersReads extends Pick<CoreConfiguration, 'tenancy'>, Provisioning {
  readonly members?: MembersConfiguration;
  readonly access: { readonly index: boolean };
}

const when = ['members'];

export const members = defineFeature({
  name: 'members',
  sections: {
    members: membersSchema
      .exactOptional()
      .describe('What users see and change of who may do what in their namespaces. Off without it.'),
  },
  rules: (configuration: MembersReads) => [
    [
      'access.index',
      configuration.members !== undefined && !configuration.access.index,
      'expected true with members: they are read from the RBAC index',
    ],
    needsProvisioner(configuration, configuration.members && 'members', 'write teams and invitations'),
  ],
  // Teams and invitations have no sections of their own, so their objects share one rule.
  provisionerRights: [
    { when, rule: rule(TENANCY_GROUP, 'invitations teams', 'get list watch create update delete') },
    { when, rule: rule(TENANCY_GROUP, 'invitations/status', 'patch') },
    tenantUIDRight(when),
  ],
  namespace: ({ members }: MembersReads) => members?.namespace,
  findMissing: async ({ members, tenancy }: MembersReads, objects, signal) =>
    members === undefined ? [] : missingRoles(tenancy, objects, signal),
  ownResources: [MEMBERS, PEOPLE_SEARCHES],
  reads: ({ members }: MembersReads) => ({ search: members && { inviteAnyone: members.inviteAnyone } }),
});

export type MembersParts = ReturnType<typeof members.reads>;
export type { MembersService } from './members-service.ts';
