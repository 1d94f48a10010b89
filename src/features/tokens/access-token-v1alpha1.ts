/**
 * AccessToken in two forms: of Stonegate's own API (`stonegate.dev/v1alpha1`), as its owner sees it, and
 * stored (`tenancy.stonegate.dev/v1alpha1`), with digests of its secrets, as only the operator sees it.
 */
import { z } from 'zod';
import {
  type CustomResource,
  column,
  TENANCY_GROUP,
  TENANCY_VERSION,
} from '../../kubernetes/custom-resource.ts';
import type { Output } from '../../lib/schema-fields.ts';
import type { OwnResource } from '../../proxy/own-api.ts';
import type { OwnObjectMeta } from '../../proxy/response/own-objects.ts';

const RULE = 'each rule has verbs, apiGroups, resources and namespaces, lists of 1 to 64 items';
const listOf = (item: z.ZodString) => z.array(item.max(253), RULE).min(1, RULE).max(64, RULE);
const names = listOf(z.string().min(1));

const ruleSchema = z.strictObject({
  verbs: names,
  apiGroups: listOf(z.string()),
  resources: names,
  namespaces: names.describe('`*` is what tenant/LEVEL covers.'),
  resourceNames: names.exactOptional(),
});

export type TokenRule = Output<typeof ruleSchema>;

/** The most characters of all rules as JSON: every process stores them, and a refusal repeats them. */
const RULES_LENGTH = 4_096;

const scopeFields = {
  description: z.string().max(256).exactOptional().describe('What the token is for.'),
  scopes: z
    .array(z.string().max(128))
    .max(64)
    .default([])
    .describe(
      'What the token may do of what its owner may do: userinfo, read, session, tenant/LEVEL, namespace/NAME/LEVEL; +secrets, +exec, +rbac, +impersonate, +tokens for what escalates.',
    ),
  rules: z
    .array(ruleSchema)
    .max(32)
    .refine((rules) => JSON.stringify(rules).length <= RULES_LENGTH, { error: 'they are too long' })
    .exactOptional()
    .describe('Further rights, as rules of RBAC.'),
};

export const accessTokenSpecSchema = z.strictObject({
  ...scopeFields,
  expirationSeconds: z
    .int()
    .exactOptional()
    .describe('For how long it is valid. A request without it is refused with the longest for the scopes.'),
});

export type AccessTokenSpec = Output<typeof accessTokenSpecSchema>;

const accessTokenStatusSchema = z.object({
  token: z.string().exactOptional().describe('The secret. It is shown once, when it is created.'),
  state: z.enum(['active', 'expired', 'revoked', 'blocked']).describe('Only an active token is accepted.'),
  reason: z.string().exactOptional().describe('Why it is not active.'),
  owner: z.string().describe('The user that it acts as.'),
  expirationTimestamp: z.string(),
  lastUsedTimestamp: z.string().exactOptional().describe('To the hour.'),
  notes: z.array(z.string()).exactOptional().describe('What the scopes allow besides what they say.'),
});

/** An access token as its owner sees it, without kind and version. */
export interface ShownToken {
  readonly metadata: OwnObjectMeta;
  readonly spec: AccessTokenSpec;
  readonly status: Output<typeof accessTokenStatusSchema>;
}

export function scopesOf({ spec: { scopes, rules = [] } }: Pick<ShownToken, 'spec'>): string {
  return [...scopes, ...(rules.length > 0 ? [`${rules.length} rules`] : [])].join(' ');
}

export const OWN_ACCESS_TOKENS: OwnResource = {
  name: 'accesstokens',
  shortNames: ['atok'],
  kind: 'AccessToken',
  namespaced: false,
  verbs: ['get', 'list', 'create', 'delete'],
  inTenant: true,
  needs: { setting: 'tokens' },
  description:
    'AccessToken is a credential of yours with less than your rights. Deleting it revokes it; it stays listed for 30 days.',
  schemas: { spec: accessTokenSpecSchema, status: accessTokenStatusSchema },
};

export const rotationSpecSchema = z.strictObject({
  name: z.string().describe('The name of the token.'),
  overlapSeconds: z
    .int()
    .min(0)
    .max(86_400)
    .default(600)
    .describe('For how long the present secret stays valid.'),
});

export const OWN_ROTATIONS: OwnResource = {
  name: 'accesstokenrotations',
  kind: 'AccessTokenRotation',
  namespaced: false,
  verbs: ['create'],
  inTenant: true,
  needs: { setting: 'tokens' },
  description: 'AccessTokenRotation creates another secret for an access token of yours.',
  schemas: { spec: rotationSpecSchema, status: accessTokenStatusSchema },
};

/** All times are in RFC 3339. */
const storedSpecSchema = z.object({
  ...scopeFields,
  tenant: z.string().describe('The tenant of the owner.'),
  owner: z.string().describe('The user name of the owner.'),
  identity: z.string().describe("The owner's identity when the token was created, as JSON."),
  signedIn: z.string().describe('When the owner had last signed in by then.'),
  expires: z.string(),
  secrets: z
    .array(
      z.object({
        digest: z.string().describe('SHA-256.'),
        until: z.string().exactOptional().describe('When a secret that was rotated ends.'),
      }),
    )
    .describe('The newest last.'),
  revoked: z.object({ at: z.string(), reason: z.string() }).exactOptional(),
});

const storedStatusSchema = z.object({
  lastUsed: z.string().exactOptional(),
  signIn: z
    .object({ at: z.string(), identity: z.string() })
    .exactOptional()
    .describe("The owner's last sign-in."),
});

export const storedTokenSchema = z.object({
  spec: storedSpecSchema,
  status: storedStatusSchema.optional(),
});

export type StoredTokenSpec = Output<typeof storedSpecSchema>;
export type StoredTokenStatus = Output<typeof storedStatusSchema>;

export const STORED_TOKENS: CustomResource = {
  group: TENANCY_GROUP,
  version: TENANCY_VERSION,
  resource: 'accesstokens',
  namespaced: true,
  kind: 'AccessToken',
  description: 'An access token of a user, without its secret. Stonegate writes it; deleting it ends it.',
  spec: storedSpecSchema,
  status: storedStatusSchema,
  columns: [
    column('Owner', '.spec.owner'),
    column('Scopes', '.spec.scopes'),
    // kubectl shows a date to come as `<invalid>`.
    column('Expires', '.spec.expires'),
    column('Revoked', '.spec.revoked.at', 'date'),
    column('Age', '.metadata.creationTimestamp', 'date'),
  ],
};
