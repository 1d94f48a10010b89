/**
 * The section `members`: what users may see and change of who may do what. docs/members.md explains it.
 */
import { z } from 'zod';
import { count, type Output, tenant, toggle } from '../../lib/schema-fields.ts';

export const membersSchema = z.strictObject({
  namespace: tenant
    .default('stonegate')
    .describe('The namespace of the stored objects; on Arktos, of the system tenant. It must exist.'),
  teamMembers: count.max(1_000).default(100).describe('How many members a team may have.'),
  inviteAnyone: toggle(
    'Whether users find every user of their tenant who has a role or is in a team, not only those who share a namespace or a team with them.',
  ),
});

export type MembersConfiguration = Output<typeof membersSchema>;
