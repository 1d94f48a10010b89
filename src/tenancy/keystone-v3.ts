/**
 * Keystone v3: the parts of a validated token that determine the user, the tenant and the roles.
 * https://docs.openstack.org/api-ref/identity/v3/#validate-and-show-information-for-token
 */
import { z } from 'zod';
import type { Output } from '../lib/schema-fields.ts';

/**
 * The characters of the tokens that Keystone issues (Fernet, JWS). Keystone's decoder ignores other
 * characters, so without this check one token would have any number of spellings. 16 KiB is enough for 500
 * federated groups.
 */
export const TOKEN_SPELLING = /^[A-Za-z0-9_.-]{1,16384}$/;

/** The start of every Fernet token: version 0x80 and the first bytes of a time stamp, in base64. */
export const FERNET_START = 'gAAAAA';

export const reference = z.strictObject({ id: z.string(), name: z.string() });
export const referenceInDomain = reference.extend({ domain: reference });

const assignmentScope = z.union([
  z.strictObject({ kind: z.literal('project'), project: referenceInDomain }),
  z.strictObject({ kind: z.literal('domain'), domain: reference }),
  z.strictObject({ kind: z.literal('system') }),
]);

/** The scope of a token. */
const scope = z.union([assignmentScope, z.strictObject({ kind: z.literal('unscoped') })]);

/** The delegation by which a token was issued, if it does not simply have its user's rights. */
const delegation = z.union([
  z.strictObject({ kind: z.literal('application-credential'), id: z.string() }),
  z.strictObject({
    kind: z.literal('trust'),
    id: z.string(),
    trusteeUserID: z.string(),
    impersonation: z.boolean(),
  }),
]);

/**
 * A token validated by Keystone, reduced to the fields that Stonegate uses. Holds no secret and may be
 * cached.
 */
export const keystoneTokenSchema = z.strictObject({
  user: referenceInDomain,
  scope,
  roles: z.array(reference),
  /** Ids of the federated groups frozen into the token; empty for local users. */
  federatedGroups: z.array(z.string()),
  delegation: delegation.exactOptional(),
  methods: z.array(z.string()),
  /** The first identifies the token, whose string may have several spellings. */
  auditIDs: z.array(z.string()),
  /** Milliseconds since the epoch. */
  issuedAt: z.number(),
  /** Milliseconds since the epoch; the token is invalid from that millisecond on. */
  expiresAt: z.number(),
});

/** One user's role on one scope; groups, inheritance and implied roles are already resolved. */
export const roleAssignmentSchema = z.strictObject({
  user: referenceInDomain,
  role: reference,
  scope: assignmentScope,
});

export type DomainReference = Output<typeof reference>;
export type RoleReference = Output<typeof reference>;
export type UserReference = Output<typeof referenceInDomain>;
export type Scope = Output<typeof scope>;
export type Delegation = Output<typeof delegation>;
export type KeystoneToken = Output<typeof keystoneTokenSchema>;
export type RoleAssignment = Output<typeof roleAssignmentSchema>;
export type AssignmentScope = RoleAssignment['scope'];

/**
 * Revokes every token to which all of the ids apply.
 * https://docs.openstack.org/api-ref/identity/v3-ext/#list-revocation-events
 */
export interface RevocationEvent {
  /** Identifies the event. */
  readonly digest: string;
  /** Milliseconds since the epoch. */
  readonly revokedAt: number;
  readonly auditID: string | undefined;
  readonly auditChainID: string | undefined;
  readonly trustID: string | undefined;
  readonly userID: string | undefined;
  readonly projectID: string | undefined;
  readonly domainID: string | undefined;
}

/**
 * The namespace of a project, for the project's users.
 *
 * @param project without a domain if that is not known
 * @returns undefined if the running Stonegate makes no namespace for it and the configuration names none, or
 *   if its name cannot be computed
 */
export type ProjectNamespace = (project: {
  readonly id: string;
  readonly name: string;
  readonly domainID?: string | undefined;
}) => string | undefined;
