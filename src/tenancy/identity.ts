/**
 * The identity that an authenticator returns. The tenancy mode maps it to a tenant and a Kubernetes user.
 * Only facts from backends are cached; the mapping is pure and uses the current configuration.
 */
import { z } from 'zod';
import { userInfoSchema } from '../kubernetes/authentication-v1.ts';
import type { TokenScope } from '../kubernetes/token-scope.ts';
import type { Output } from '../lib/schema-fields.ts';
import { reference } from './keystone-v3.ts';

/** The facts from which the user's name is built. */
const subject = z.union([
  z.strictObject({
    kind: z.literal('keystone'),
    userName: z.string(),
    userDomain: reference,
    /** The domain of the token's scope, or the user's domain if the scope has none. */
    scopeDomain: reference,
    /** A delegated token has its own user name, so that it never gets rights granted to the user by name. */
    delegation: z
      .strictObject({ kind: z.enum(['application-credential', 'trust']), id: z.string() })
      .exactOptional(),
  }),
  /** The source's prefix and the name that the source gives. */
  z.strictObject({ kind: z.literal('claim'), name: z.string() }),
  /**
   * Authenticated by the API server's TokenReview, which returned this user: forwarded with the client's own
   * token, never impersonated.
   */
  z.strictObject({ kind: z.literal('upstream'), user: userInfoSchema }),
  z.strictObject({ kind: z.literal('anonymous') }),
]);

/**
 * The source of the tenant: a Keystone domain that the tenancy mode maps, or a statement of the operator (an
 * issuer's configuration, a certificate, a file). Anonymous requests have no tenant.
 */
const tenantOrigin = z.union([
  z.strictObject({ from: z.literal('domain'), domain: reference }),
  z.strictObject({ from: z.literal('issuer'), tenant: z.string() }),
  z.strictObject({ from: z.literal('nowhere') }),
]);

/** The scope of a credential. */
export const identityScope = z.strictObject({
  kind: z.enum(['project', 'domain', 'system', 'unscoped']).describe("Keystone's kind of scope."),
  id: z.string().exactOptional().describe('Id of the project or domain.'),
  name: z.string().exactOptional().describe('Its name.'),
  roles: z.array(z.string()).describe('Role names on this scope.'),
});

/** Sessions of the portal, and owners of access tokens and invitations, are stored in this form. */
export const identitySchema = z.strictObject({
  /** The authenticator that accepted the credential: `keystone`, `jwt`, `x509`, `token-file`, … */
  authenticator: z.string(),
  subject,
  tenantOrigin,
  /** The source's stable id; empty if it has none. */
  uid: z.string(),
  groups: userInfoSchema.shape.groups,
  extra: userInfoSchema.shape.extra,
  /** Absent if the source has no scopes. For display only; rights come from groups. */
  scope: identityScope.exactOptional(),
  /**
   * The Keystone user whose role assignments are looked up for the scope of each request. Absent if the
   * credential has a scope of its own or is delegated: then only the roles in the credential apply.
   */
  assignmentsOf: z.string().exactOptional(),
  /**
   * When the user signed in to get the credential, in milliseconds since the epoch. Absent if the credential
   * does not say.
   */
  signedInAt: z.number().exactOptional(),
  /** Expiry of the credential, in milliseconds since the epoch; Infinity if it has none. */
  expiresAt: z.number(),
  /** Further facts for the audit log: trustee of a trust, Keystone's audit id of the token, … */
  auditAnnotations: z.record(z.string(), z.string()),
});

/** The user's name and groups are unique in the installation. */
export type QualifiedIdentity = Output<typeof identitySchema>;

/**
 * A user whose name and groups are local to a tenant, as a certificate or a file of the operator gives them:
 * two tenants may have the same. The tenancy mode decides how they are qualified.
 */
export interface LocalSubject {
  readonly kind: 'local';
  /** Prefixes of names and groups, so that no other source gives the same ones; may be empty. */
  readonly usernamePrefix: string;
  readonly groupsPrefix: string;
  readonly name: string;
  readonly groups: readonly string[];
}

export interface LocalIdentity
  extends Omit<QualifiedIdentity, 'subject' | 'groups' | 'tenantOrigin' | 'assignmentsOf'> {
  readonly subject: LocalSubject;
  readonly tenantOrigin: Extract<TenantOrigin, { from: 'issuer' }>;
  /** Keystone assigns roles to its own users alone. */
  readonly assignmentsOf?: never;
}

export type Identity = (QualifiedIdentity | LocalIdentity) & {
  /** Set by an access token alone, and never stored. */
  readonly accessToken?: TokenScope;
};
/** The audit annotation with an e-mail address that an issuer has verified. */
export const VERIFIED_EMAIL = 'stonegate.dev/verified-email';
export type Subject = Identity['subject'];
export type TenantOrigin = QualifiedIdentity['tenantOrigin'];
export type IdentityScope = Output<typeof identityScope>;
