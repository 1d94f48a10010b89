/**
 * Finds out, for a person whose token names no scope, which of their roles count for a request. What is kept is one
 * entry per person with all their assignments, not one per person and project: so Keystone is asked as often as there
 * are people, however many projects they work in. Which projects and domains are switched off is one entry for all.
 *
 * Roles that cannot be learned are no roles that a person lacks: such a request ends with a 503, and is never served
 * with fewer rights in silence.
 */
import type { Identity } from '../api/identity.ts';
import { identityScope, isSafeID, isUsableName, scopeExtra, scopeGroups } from '../api/keystone-groups.ts';
import type { RoleReference } from '../api/keystone-v3.ts';
import { StatusError } from '../errors/status-error.ts';
import { isJSONObject } from '../lib/json-object.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { AssignmentScope, AssignmentSource, DisabledScopes, RoleAssignment } from './ports.ts';
import {
  type NamespaceOf,
  type RoleScope,
  rolesInScope,
  type ScopedRoles,
  scopeKey,
} from './roles-in-scope.ts';

/** The port to what is remembered for a while, refreshed ahead of its end. Implemented in `cache/`. */
export interface AssignmentCache<V> {
  lookup(
    key: string,
    load: () => Promise<{
      readonly value: V;
      readonly expiresAt: number;
      readonly tags: readonly string[];
    }>,
  ): Promise<V | undefined> | V | undefined;
}

export interface RoleLookupOptions {
  readonly source: AssignmentSource;
  readonly assignments: AssignmentCache<readonly RoleAssignment[]>;
  readonly disabled: AssignmentCache<DisabledScopes>;
  readonly namespaceOf: NamespaceOf;
  /** By what a person's entry may be dropped. */
  readonly tagsOf: (identity: Identity, assignments: readonly RoleAssignment[]) => readonly string[];
  /** By what the entry of all may be. */
  readonly disabledTags: readonly string[];
}

export interface RoleLookup {
  /**
   * The same object for the same person and scopes, as long as their assignments are not learned anew.
   *
   * @param identity of whom `assignmentsOf` says that their assignments count
   * @throws StatusError KeystoneUnavailable, IdentityUnusable
   */
  inScope(identity: Identity, concern: RoleScope): Promise<Identity>;
}

/** What Keystone says of people has no end of its own: the cache's times alone bound it. */
const NO_END = Number.MAX_SAFE_INTEGER;
const ALL = 'disabled';

export function createRoleLookup(options: RoleLookupOptions): RoleLookup {
  const { source, namespaceOf } = options;
  const made = memoizeByReference((_: Identity) =>
    memoizeByReference((_: readonly RoleAssignment[]) => new Map<string, Identity>()),
  );

  async function assignmentsOf(
    identity: Identity,
    userID: string,
  ): Promise<readonly RoleAssignment[] | undefined> {
    return options.assignments.lookup(userID, async () => {
      const value = await source.roleAssignmentsOf(userID);
      return { value, expiresAt: NO_END, tags: options.tagsOf(identity, value) };
    });
  }

  async function disabledScopes(): Promise<DisabledScopes | undefined> {
    return options.disabled.lookup(ALL, async () => ({
      value: await source.disabledScopes(),
      expiresAt: NO_END,
      tags: options.disabledTags,
    }));
  }

  function remembered(
    identity: Identity,
    assignments: readonly RoleAssignment[],
    held: readonly ScopedRoles[],
  ): Identity {
    const ofPerson = made(identity)(assignments);
    const key = held.map(({ scope }) => scopeKey(scope)).join(' ');
    const known = ofPerson.get(key) ?? withRoles(identity, held);
    ofPerson.set(key, known);
    return known;
  }

  return {
    async inScope(identity, concern) {
      const userID = identity.assignmentsOf;
      if (userID === undefined) return identity;
      const [assignments, disabled] = await Promise.all([assignmentsOf(identity, userID), disabledScopes()]);
      if (assignments === undefined || disabled === undefined)
        throw new StatusError(
          'KeystoneUnavailable',
          "Service Unavailable: the user's roles cannot be learned",
        );
      return remembered(identity, assignments, rolesInScope(assignments, concern, { disabled, namespaceOf }));
    },
  };
}

/*
 * An identity with the roles that count for a request: the groups that tokens scoped to those places would have. Extra
 * and the scope that is shown can tell of one place only: they are those of the narrowest, which the request concerns
 * most, so that whoever reads project and roles from them reads what belongs together.
 
 */

/** On what the roles were looked up, for the audit log: `project 3f…: member, reader; domain …`. */
export const ROLES_ANNOTATION = 'keystone.stonegate.dev/roles';

/** A role's name that cannot be read as several roles or places; any other is quoted. */
const PLAIN = /^[\p{L}\p{N}_.-]+$/u;

/**
 * @param held the narrowest scope first
 * @returns the identity itself where no roles count
 * @throws StatusError IdentityUnusable where a name or an id cannot be part of a Kubernetes identity
 */
export function withRoles(identity: Identity, held: readonly ScopedRoles[]): Identity {
  const [narrowest] = held;
  if (narrowest === undefined) return identity;
  for (const one of held) refuseUnusable(one);
  return {
    ...identity,
    groups: [...identity.groups, ...held.flatMap(({ scope, roles }) => scopeGroups(scope, roles))],
    extra: { ...identity.extra, ...scopeExtra(narrowest.scope, narrowest.roles) },
    scope: identityScope(narrowest.scope, narrowest.roles),
    auditAnnotations: {
      ...identity.auditAnnotations,
      [ROLES_ANNOTATION]: held.map(inWords).join('; '),
    },
  };
}

function inWords({ scope, roles }: ScopedRoles): string {
  const names = roles.map(({ name }) => (PLAIN.test(name) ? name : JSON.stringify(name)));
  return `${scopeKey(scope)}: ${names.join(', ')}`;
}

function refuseUnusable({ scope, roles }: ScopedRoles): void {
  const ids =
    scope.kind === 'project' ? [scope.project.id] : scope.kind === 'domain' ? [scope.domain.id] : [];
  const names = [...roles.map(({ name }) => name), ...(scope.kind === 'project' ? [scope.project.name] : [])];
  if (ids.every(isSafeID) && names.every(isUsableName)) return;
  throw new StatusError(
    'IdentityUnusable',
    'Forbidden: a role, or the project it is held on, has a name or an id in Keystone that fits into no group',
  );
}

/*
 * Role assignments and switched-off scopes as text and back, for the shared cache. What comes back was sealed by a
 * replica, but perhaps by one of another version: whatever does not have today's shape counts as not found.
 
 */

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
