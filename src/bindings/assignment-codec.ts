/**
 * Role assignments and switched-off scopes as text and back, for the shared cache. What comes back was sealed by a
 * replica, but perhaps by one of another version: whatever does not have today's shape counts as not found.
 */
import type { RoleReference } from '../api/keystone-v3.ts';
import { isJSONObject } from '../lib/json-object.ts';
import type { DisabledScopes } from './assignment-source.ts';
import type { AssignmentScope, RoleAssignment } from './keystone-directory.ts';

export const assignmentsCodec = {
  encode: (assignments: readonly RoleAssignment[]): string => JSON.stringify(assignments),

  /** @returns undefined for what are no assignments */
  decode(text: string): readonly RoleAssignment[] | undefined {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(isAssignment) ? value : undefined;
  },
};

export const disabledScopesCodec = {
  encode: ({ projectIDs, domainIDs }: DisabledScopes): string =>
    JSON.stringify({ projectIDs: [...projectIDs], domainIDs: [...domainIDs] }),

  /** @returns undefined for what are no such scopes */
  decode(text: string): DisabledScopes | undefined {
    const value: unknown = JSON.parse(text);
    if (!isJSONObject(value)) return undefined;
    const { projectIDs, domainIDs } = value;
    if (!isTexts(projectIDs) || !isTexts(domainIDs)) return undefined;
    return { projectIDs: new Set(projectIDs), domainIDs: new Set(domainIDs) };
  },
};

function isAssignment(value: unknown): value is RoleAssignment {
  return isJSONObject(value) && isInDomain(value.user) && isReference(value.role) && isScope(value.scope);
}

function isScope(value: unknown): value is AssignmentScope {
  if (!isJSONObject(value)) return false;
  switch (value.kind) {
    case 'project':
      return isInDomain(value.project);
    case 'domain':
      return isReference(value.domain);
    default:
      return value.kind === 'system';
  }
}

function isInDomain(value: unknown): boolean {
  return isJSONObject(value) && isReference(value) && isReference(value.domain);
}

function isReference(value: unknown): value is RoleReference {
  return isJSONObject(value) && typeof value.id === 'string' && typeof value.name === 'string';
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((member) => typeof member === 'string');
}
