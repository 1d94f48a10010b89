/**
 * Team of Stonegate's own API, `stonegate.dev/v1alpha1`, and the stored Team of
 * `tenancy.stonegate.dev/v1alpha1`: users of one tenant who are in a group together. The stored object is
 * named `<tenant>.<team>`, which is unambiguous since neither part has a dot.
 */
import { z } from 'zod';
import {
  type CustomResource,
  column,
  TENANCY_GROUP,
  TENANCY_VERSION,
} from '../../kubernetes/custom-resource.ts';
import { text } from '../../kubernetes/kubernetes-schema.ts';
import { metadataOf } from '../../kubernetes/object-format.ts';
import { TEAM_GROUP_PREFIX } from '../../kubernetes/reserved-names.ts';
import type { Output } from '../../lib/schema-fields.ts';
import type { OwnResource } from '../../proxy/own-api.ts';
import type { StoredForTenant } from '../former-objects.ts';
import { ownershipOf } from '../tenant-uids.ts';

/** Longer than any name that a source gives. */
const NAME_LENGTH = 1_024;
const DESCRIPTION_LENGTH = 256;

const users = z.array(z.string().min(1).max(NAME_LENGTH));
const description = z.string().max(DESCRIPTION_LENGTH).describe('What the team is for.').exactOptional();
const members = users.describe('Users of the tenant, who are in the group of the team.');
const managers = users.describe('Users who may change the team. They are in its group only as members.');

export const teamSpecSchema = z.strictObject({
  description,
  members: members.exactOptional(),
  managers: managers.exactOptional(),
});

const statusSchema = z.object({
  group: text('The group that a RoleBinding names to grant the team a role.'),
});

const storedSpecSchema = z.strictObject({
  tenant: text('The tenant of its users.'),
  name: text('The name within the tenant.'),
  description,
  members,
  managers,
});

export const TEAMS: CustomResource = {
  group: TENANCY_GROUP,
  version: TENANCY_VERSION,
  resource: 'teams',
  namespaced: true,
  kind: 'Team',
  shortName: 'sgteam',
  description:
    'Users of a tenant who are in a group together. Named TENANT.TEAM, in the namespace of the operator.',
  spec: storedSpecSchema,
  status: z.object({}),
  columns: [
    column('Tenant', '.spec.tenant'),
    column('Team', '.spec.name'),
    column('Age', '.metadata.creationTimestamp', 'date'),
  ],
};

export const OWN_TEAMS: OwnResource = {
  name: 'teams',
  kind: 'Team',
  namespaced: false,
  verbs: ['get', 'list', 'create', 'update', 'delete'],
  inTenant: true,
  needs: { setting: 'members' },
  description: "Team is users of the user's tenant who are in a group together, to which roles are bound.",
  schemas: { spec: teamSpecSchema, status: statusSchema },
};

const metadataSchema = z.object({
  name: z.string(),
  uid: z.string(),
  resourceVersion: z.string(),
  creationTimestamp: z.string(),
  labels: z.record(z.string(), z.string()).exactOptional(),
});

const storedSchema = z
  .object({ metadata: metadataSchema, spec: storedSpecSchema })
  .refine(({ metadata, spec }) => metadata.name === storedName(spec.tenant, spec.name));

/** A stored team. */
export type Team = Output<typeof storedSchema>;

export function storedName(tenant: string, name: string): string {
  return `${tenant}.${name}`;
}

/** @returns undefined for an object that is no team, or that has the name of another team */
export function readTeam(object: unknown): Team | undefined {
  return storedSchema.safeParse({ metadata: metadataOf(object), spec: Object(object).spec }).data;
}

export function revisionOf({ metadata }: Team): number {
  return Number(metadata.resourceVersion);
}

export function storedForTenant(team: Team): StoredForTenant {
  const { metadata, spec } = team;
  return { ...ownershipOf(team), tenant: spec.tenant, id: metadata.name, uid: metadata.uid };
}

export function groupOf({ tenant, name }: Pick<Team['spec'], 'tenant' | 'name'>): string {
  return `${TEAM_GROUP_PREFIX}${tenant}:${name}`;
}

/** A team as the users of its tenant see it, without kind and version. */
export interface ShownTeam {
  readonly metadata: Omit<Team['metadata'], 'labels'>;
  readonly spec: Omit<Team['spec'], 'tenant' | 'name'>;
  readonly status: { readonly group: string };
}

export function shownTeam({
  metadata: { labels: _, ...metadata },
  spec: { tenant, name, ...spec },
}: Team): ShownTeam {
  return { metadata: { ...metadata, name }, spec, status: { group: groupOf({ tenant, name }) } };
}
