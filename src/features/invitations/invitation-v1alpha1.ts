/**
 * Invitation in its two forms: as users see it in Stonegate's own API, `stonegate.dev/v1alpha1`, and as it is
 * stored, `tenancy.stonegate.dev/v1alpha1`. The stored object has a digest of the secret, and is the
 * operator's.
 */
import { z } from 'zod';
import {
  type CustomResource,
  column,
  TENANCY_GROUP,
  TENANCY_VERSION,
} from '../../kubernetes/custom-resource.ts';
import { flag, text } from '../../kubernetes/kubernetes-schema.ts';
import { timestamp } from '../../lib/go-time.ts';
import type { Output } from '../../lib/schema-fields.ts';
import type { OwnResource } from '../../proxy/own-api.ts';
import type { OwnObjectMeta } from '../../proxy/response/own-objects.ts';

const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

const target = {
  namespace: z.string().regex(LABEL).exactOptional().describe('Where the role is granted.'),
  role: z
    .string()
    .min(1)
    .max(253)
    .regex(/^(?!\.{1,2}$)[^/%\p{Cc}]*$/u)
    .exactOptional()
    .describe('read, control, edit or manage; or the name of another ClusterRole, not on Arktos.'),
  team: z
    .string()
    .regex(LABEL)
    .exactOptional()
    .describe('The team to join, instead of a namespace and a role.'),
};

export const invitationSpecSchema = z.strictObject({
  ...target,
  email: z
    .string()
    .max(254)
    .regex(/^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u, 'expected an address such as bob@example.com')
    .exactOptional()
    .describe(
      'The verified e-mail address with which the invited user signs in. Without it, every user of the tenant may accept.',
    ),
});

export type InvitationSpec = Output<typeof invitationSpecSchema>;

/** An invitation gives a role or a place in a team. */
export type Target = { readonly namespace: string; readonly role: string } | { readonly team: string };

/** @returns undefined unless it names either a team or a role in a namespace */
export function targetOf({ namespace, role, team }: InvitationSpec): Target | undefined {
  if (namespace === undefined && role === undefined) return team === undefined ? undefined : { team };
  return namespace === undefined || role === undefined || team !== undefined
    ? undefined
    : { namespace, role };
}

const invitationStatusSchema = z.object({
  link: text(
    'What the invited user opens, or passes to "stonegate invite accept". Shown once.',
  ).exactOptional(),
  state: z.enum(['open', 'accepted', 'withdrawn', 'refused', 'expired']),
  reason: text('Why it is not open.').exactOptional(),
  inviter: text('The user with whose rights it is accepted.'),
  expirationTimestamp: z.string(),
});

/** Without its kind and version. */
export interface ShownInvitation {
  readonly metadata: OwnObjectMeta;
  readonly spec: InvitationSpec;
  readonly status: Output<typeof invitationStatusSchema>;
}

export const OWN_INVITATIONS: OwnResource = {
  name: 'invitations',
  kind: 'Invitation',
  namespaced: false,
  verbs: ['get', 'list', 'create', 'delete'],
  inTenant: true,
  needs: { setting: 'members' },
  description:
    'Invitation lets one user of your tenant have a role in a namespace, or join a team, within seven days. Deleting it withdraws it; it stays listed for 30 days.',
  schemas: { spec: invitationSpecSchema, status: invitationStatusSchema },
};

export const acceptanceSpecSchema = z.strictObject({
  token: z.string().max(256).describe('The secret at the end of the link.'),
  accept: flag('Whether to accept. Without it, the answer only says who invites to what.').exactOptional(),
});

const offerSchema = z.object({
  ...target,
  inviter: text('Who invites.'),
  accepted: flag('Whether it was accepted by this request.'),
  expirationTimestamp: z.string(),
});

/** The invited user sees this. */
export type Offer = Output<typeof offerSchema>;

export function offerOf(
  {
    target,
    inviter,
    expiresAt,
  }: { readonly target: Target; readonly inviter: string; readonly expiresAt: number },
  accepted: boolean,
): Offer {
  return { ...target, inviter, accepted, expirationTimestamp: timestamp(expiresAt) };
}

export const OWN_ACCEPTANCES: OwnResource = {
  name: 'invitationacceptances',
  kind: 'InvitationAcceptance',
  namespaced: false,
  verbs: ['create'],
  inTenant: true,
  needs: { setting: 'members' },
  description: 'InvitationAcceptance shows an invitation to the user who has its secret, or accepts it.',
  schemas: { spec: acceptanceSpecSchema, status: offerSchema },
};

/** Times are stored in RFC 3339. An API server does not take every pattern of the schemas above. */
const storedSpecSchema = z.object({
  namespace: z.string().exactOptional(),
  role: z.string().exactOptional(),
  team: z.string().exactOptional(),
  email: z.string().exactOptional(),
  tenant: text('The tenant of the inviter, and of who may accept.'),
  inviter: text('The user name of the inviter.'),
  identity: text("The inviter's identity at the invitation, as JSON."),
  digest: text('SHA-256 of the secret.'),
  invited: text('When it was created.'),
  expires: z.string(),
  ended: z
    .object({ at: z.string(), state: z.enum(['accepted', 'withdrawn', 'refused']), reason: z.string() })
    .exactOptional(),
});

const storedStatusSchema = z.object({
  signIn: z
    .object({ at: z.string(), identity: z.string() })
    .exactOptional()
    .describe("The inviter's last sign-in."),
});

export const storedInvitationSchema = z.object({
  spec: storedSpecSchema,
  status: storedStatusSchema.optional(),
});

export type StoredInvitationSpec = Output<typeof storedSpecSchema>;

export const STORED_INVITATIONS: CustomResource = {
  group: TENANCY_GROUP,
  version: TENANCY_VERSION,
  resource: 'invitations',
  namespaced: true,
  kind: 'Invitation',
  shortName: 'sginv',
  description: 'An invitation, without its secret. Stonegate writes it; deleting it ends it.',
  spec: storedSpecSchema,
  status: storedStatusSchema,
  columns: [
    column('Inviter', '.spec.inviter'),
    // kubectl shows a date to come as `<invalid>`.
    column('Expires', '.spec.expires'),
    column('Ended', '.spec.ended.state'),
    column('Age', '.metadata.creationTimestamp', 'date'),
  ],
};
