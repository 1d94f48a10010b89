/**
 * Member and PeopleSearch of Stonegate's own API, `stonegate.dev/v1alpha1`. A member is what RoleBindings and
 * ClusterRoleBindings say of one subject in one namespace; nothing else is stored of it.
 */
import { z } from 'zod';
import { flag, text, texts } from '../../kubernetes/kubernetes-schema.ts';
import type { Output } from '../../lib/schema-fields.ts';
import type { OwnResource } from '../../proxy/own-api.ts';

const MEMBER_TYPES = ['User', 'Group', 'Team', 'ServiceAccount'] as const;

/** Named in the refusal of what can be forced. */
export const FORCE_FIELD = 'spec.force';

/** What may be a name of RBAC, and travels in a header. */
const name = z
  .string()
  .max(1_024)
  .regex(/^[^\s\p{Cc}](?:[^\p{Cc}]*[^\s\p{Cc}])?$/u, { error: 'it is no name' });

export const memberSpecSchema = z
  .strictObject({
    type: z.enum(MEMBER_TYPES).describe('What the member is: a user, a group, a team, a service account.'),
    name: name.describe('The name; NAMESPACE:NAME of a service account.'),
    role: name
      .regex(/^(?!\.{1,2}$)[^/%]*$/, { error: 'it is no name of a role' })
      .describe('read, control, edit or manage; or the name of another ClusterRole, not on Arktos.'),
    force: flag('Whether the last one who may manage the namespace may lose that.').exactOptional(),
  })
  .describe('Who has which role.');

const sourceSchema = z.strictObject({
  kind: z.enum(['RoleBinding', 'ClusterRoleBinding', 'Team']).describe('What grants the role.'),
  name: text('The name of the binding or the team.'),
  role: text('The role that it grants.'),
});

const statusSchema = z
  .strictObject({
    owner: flag('Whether the member may grant roles in the namespace.'),
    displayName: text(
      "What is known of a group by name, such as Keystone's project and role.",
    ).exactOptional(),
    from: z
      .array(sourceSchema)
      .describe('Where the role comes from, if the reader may list the bindings there.'),
  })
  .describe('What is known of the member.');

export type MemberType = (typeof MEMBER_TYPES)[number];
export type MemberSpec = Output<typeof memberSpecSchema>;
export type RoleSource = Output<typeof sourceSchema>;

/** A member without kind and version. */
export interface Member {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly creationTimestamp: null };
  readonly spec: MemberSpec;
  readonly status: Output<typeof statusSchema>;
}

export const MEMBERS: OwnResource = {
  name: 'members',
  kind: 'Member',
  namespaced: true,
  verbs: ['get', 'list', 'create', 'update', 'delete'],
  inTenant: true,
  needs: { setting: 'members' },
  description:
    'Member is who has a role in a namespace. Changes are RoleBindings, made with the rights of the user.',
  schemas: { spec: memberSpecSchema, status: statusSchema },
};

export const peopleSearchSpecSchema = z
  .strictObject({ prefix: name.describe('What the name begins with, or what follows the tenant in it.') })
  .describe('Who to look for.');

export const PEOPLE_SEARCHES: OwnResource = {
  name: 'peoplesearches',
  kind: 'PeopleSearch',
  namespaced: false,
  verbs: ['create'],
  inTenant: true,
  needs: { setting: 'members' },
  description: 'PeopleSearch completes names of users who share a namespace or a team with the user.',
  schemas: {
    spec: peopleSearchSpecSchema,
    status: z
      .strictObject({ people: texts('The names of users, at most twenty.') })
      .describe('Who was found.'),
  },
};
