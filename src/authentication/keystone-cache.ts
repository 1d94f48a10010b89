/**
 * A validated Keystone token as a cache entry: its serialized form, the tags by which it is dropped, and the
 * tags that a revocation event drops. Another version of Stonegate may have written an entry, so a value of
 * any other shape counts as not found.
 * https://docs.openstack.org/api-ref/identity/v3-ext/#list-revocation-events
 */
import type {
  Delegation,
  DomainReference,
  KeystoneToken,
  RevocationEvent,
  Scope,
  UserReference,
} from '../api/keystone-v3.ts';
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
import { isJSONObject } from '../lib/json-object.ts';

export const keystoneTokenCodec = {
  encode: (token: KeystoneToken): string => JSON.stringify(token),

  /** @returns undefined if the value does not have the shape of a token */
  decode(text: string): KeystoneToken | undefined {
    const token: unknown = JSON.parse(text);
    return isToken(token) ? token : undefined;
  },
};

function isToken(value: unknown): value is KeystoneToken {
  return (
    isJSONObject(value) &&
    isUser(value.user) &&
    isScope(value.scope) &&
    isListOf(value.roles, isReference) &&
    isListOf(value.federatedGroups, isText) &&
    (value.delegation === undefined || isDelegation(value.delegation)) &&
    isListOf(value.methods, isText) &&
    isListOf(value.auditIDs, isText) &&
    Number.isFinite(value.issuedAt) &&
    Number.isFinite(value.expiresAt)
  );
}

function isScope(value: unknown): value is Scope {
  if (!isJSONObject(value)) return false;
  switch (value.kind) {
    case 'project':
      return isReference(value.project) && isJSONObject(value.project) && isReference(value.project.domain);
    case 'domain':
      return isReference(value.domain);
    default:
      return value.kind === 'system' || value.kind === 'unscoped';
  }
}

function isDelegation(value: unknown): value is Delegation {
  if (!isJSONObject(value) || !isText(value.id)) return false;
  if (value.kind === 'application-credential') return true;
  return value.kind === 'trust' && isText(value.trusteeUserID) && typeof value.impersonation === 'boolean';
}

function isUser(value: unknown): value is UserReference {
  return isReference(value) && 'domain' in value && isReference(value.domain);
}

function isReference(value: unknown): value is DomainReference {
  return isJSONObject(value) && isText(value.id) && isText(value.name);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isListOf<T>(value: unknown, isMember: (member: unknown) => member is T): value is readonly T[] {
  return Array.isArray(value) && value.every(isMember);
}

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
