/**
 * Which cached entries a revocation event of Keystone's is about. Pure. Dropping an entry only means that Keystone is
 * asked again: so who must go is never told from who may stay, and an event that fits nobody drops everything.
 *
 * An event names the tokens to which all of its ids apply. Every such token has the narrowest of them, so that one is
 * enough. https://docs.openstack.org/api-ref/identity/v3-ext/#list-revocation-events
 */
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

/** What a token's entry is dropped by. */
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
  // Under an impersonating trust the user is the trustor, but it is the trustee's password that may have leaked.
  if (delegation?.kind === 'trust') tags.push(trustTag(delegation.id), userTag(delegation.trusteeUserID));
  return [...new Set(tags)];
}

/** What an event drops. */
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
