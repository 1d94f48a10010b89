/**
 * A validated Keystone token as a cache entry: its stored form, the tags by which it is dropped, and the tags
 * that a revocation event drops. Another version of Stonegate may have written an entry, so a value of any
 * other shape counts as not found.
 * https://docs.openstack.org/api-ref/identity/v3-ext/#list-revocation-events
 */

import {
  ANY_PROJECT_TAG,
  auditChainTag,
  auditTag,
  domainTag,
  EVERYTHING_TAG,
  projectTag,
  trustTag,
  userTag,
} from '../../cache/drop-tags.ts';
import { type Codec, jsonCodec } from '../../lib/parse-json.ts';
import { type KeystoneToken, keystoneTokenSchema, type RevocationEvent } from '../../tenancy/keystone-v3.ts';

/** Another stored form needs another name. */
export const keystoneTokenCodec: Codec<KeystoneToken> = jsonCodec('keystone', keystoneTokenSchema);

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
