/**
 * A validated Keystone token as a cache entry: its stored form, the tags by which it is dropped, and the tags
 * that a revocation event drops. Another version of Stonegate may have written an entry, so a value of any
 * other shape counts as not found.
 * https://docs.openstack.org/api-ref/identity/v3-ext/#list-revocation-events
 */
import { z } from 'zod';
import type { KeystoneToken, RevocationEvent } from '../api/keystone-v3.ts';
import {
  ANY_PROJECT_TAG,
  auditChainTag,
  auditTag,
  domainTag,
  EVERYTHING_TAG,
  projectTag,
  trustTag,
  userTag,
} from '../lib/drop-tags.ts';
import { parseJSON } from '../lib/parse-json.ts';

const referenceSchema = z.strictObject({ id: z.string(), name: z.string() });
const inDomainSchema = z.strictObject({ id: z.string(), name: z.string(), domain: referenceSchema });

const scopeSchema = z.union([
  z.strictObject({ kind: z.literal('project'), project: inDomainSchema }),
  z.strictObject({ kind: z.literal('domain'), domain: referenceSchema }),
  z.strictObject({ kind: z.literal('system') }),
  z.strictObject({ kind: z.literal('unscoped') }),
]);

const delegationSchema = z.union([
  z.strictObject({
    kind: z.literal('application-credential'),
    id: z.string(),
  }),
  z.strictObject({
    kind: z.literal('trust'),
    id: z.string(),
    trusteeUserID: z.string(),
    impersonation: z.boolean(),
  }),
]);

const tokenSchema = z.strictObject({
  user: inDomainSchema,
  scope: scopeSchema,
  roles: z.array(referenceSchema),
  federatedGroups: z.array(z.string()),
  delegation: delegationSchema.exactOptional(),
  methods: z.array(z.string()),
  auditIDs: z.array(z.string()),
  issuedAt: z.number(),
  expiresAt: z.number(),
});

export const keystoneTokenCodec = {
  /** Another stored form needs another name. */
  name: 'keystone',
  encode: (token: KeystoneToken): string => JSON.stringify(token),
  /** @returns undefined if the text is not a token in this form */
  decode: (text: string): KeystoneToken | undefined => parseJSON(text, tokenSchema),
};

/** The tags of a token's entry. */
export function tagsOfToken({ user, scope, auditIDs, delegation }: KeystoneToken): string[] {
  const [own = ''] = auditIDs;
  const tags = [
    EVERYTHING_TAG,
    auditTag(own),
    auditChainTag(auditIDs.at(-1) ?? own),
    userTag(user.id),
    domainTag(user.domain.id),
  ];
  if (scope.kind === 'project') tags.push(projectTag(scope.project.id), domainTag(scope.project.domain.id));
  if (scope.kind === 'domain') tags.push(domainTag(scope.domain.id));
  // Under an impersonating trust the user is the trustor, but the trustee's password may have leaked.
  if (delegation?.kind === 'trust') tags.push(trustTag(delegation.id), userTag(delegation.trusteeUserID));
  return [...new Set(tags)];
}

/**
 * The tags that an event drops. An event applies to tokens that match all of its ids, so one id, the
 * narrowest, is enough. Dropping an entry only means that Keystone validates the token again: an event with
 * no known id drops everything.
 */
export function tagsOfEvent(event: RevocationEvent): string[] {
  const { auditID, auditChainID, trustID, userID, projectID, domainID } = event;
  if (auditID !== undefined) return [auditTag(auditID)];
  if (auditChainID !== undefined) return [auditChainTag(auditChainID)];
  if (trustID !== undefined) return [trustTag(trustID)];
  if (userID !== undefined) return [userTag(userID)];
  if (projectID !== undefined) return [projectTag(projectID), ANY_PROJECT_TAG];
  if (domainID !== undefined) return [domainTag(domainID)];
  return [EVERYTHING_TAG];
}
