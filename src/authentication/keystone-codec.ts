/**
 * A validated Keystone token as text and back, for the shared cache. What comes back was sealed by a replica, but
 * perhaps by one of another version: whatever does not have today's shape counts as not found.
 */
import type { Delegation, DomainReference, KeystoneToken, Scope, UserReference } from '../api/keystone-v3.ts';
import { isJSONObject } from '../lib/json-object.ts';

export const keystoneTokenCodec = {
  encode: (token: KeystoneToken): string => JSON.stringify(token),

  /** @returns undefined for what is no such token */
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
