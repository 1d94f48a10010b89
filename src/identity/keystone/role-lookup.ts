/**
 * Looks up which roles of a user count for a request, if the user's token has no scope. One cache entry per
 * user holds all assignments, and one entry holds all disabled projects and domains. If roles cannot be
 * looked up, the request fails with 503 and never continues with fewer rights.
 */
import { z } from 'zod';
import type { CredentialCache } from '../../cache/credential-cache.ts';
import { StatusError } from '../../errors/status-error.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import { jsonCodec } from '../../lib/parse-json.ts';
import type { Identity, QualifiedIdentity } from '../../tenancy/identity.ts';
import { identityScope, scopeExtra, scopeGroups } from '../../tenancy/keystone-groups.ts';
import { type RoleAssignment, referenceInDomain, roleAssignmentSchema } from '../../tenancy/keystone-v3.ts';
import type { AssignmentSource, DisabledScopes } from './keystone-directory.ts';
import { refuseUnusableScope } from './keystone-identity.ts';
import {
  type NamespaceOf,
  projectNamespaces,
  type RoleScope,
  rolesInScope,
  type ScopedRoles,
  scopeKey,
} from './roles-in-scope.ts';

export interface RoleLookupOptions {
  readonly source: AssignmentSource;
  readonly assignments: CredentialCache<readonly RoleAssignment[]>;
  readonly disabled: CredentialCache<DisabledScopes>;
  readonly namespaceOf: NamespaceOf;
  /** Tags by which a user's entry is dropped. */
  readonly tagsOf: (identity: Identity, assignments: readonly RoleAssignment[]) => readonly string[];
  /** Tags by which the entry of disabled scopes is dropped. */
  readonly disabledTags: readonly string[];
}

export interface RoleLookup {
  /**
   * The result is the same object for the same user and scopes until the assignments are loaded again.
   *
   * @param identity with `assignmentsOf`, the user whose assignments count
   * @throws StatusError KeystoneUnavailable, IdentityUnusable
   */
  inScope(identity: Identity, roleScope: RoleScope): Promise<Identity>;
  /**
   * The namespaces in which roles on a project count: the user's groups there differ from those elsewhere.
   *
   * @param domainID the tenant's domain
   * @throws StatusError KeystoneUnavailable
   */
  projectNamespaces(identity: Identity, domainID: string | undefined): Promise<readonly string[]>;
}

type ProjectScope = Extract<RoleAssignment['scope'], { kind: 'project' }>;

/** Assignments have no expiry: only the cache's times bound them. */
const NO_END = Number.MAX_SAFE_INTEGER;

export function createRoleLookup(options: RoleLookupOptions): RoleLookup {
  const { source, namespaceOf } = options;
  /**
   * A user may be in thousands of projects, and a list of namespaces looks up the roles in each of them. The
   * empty key has the assignments on domains and on the system.
   */
  const byNamespace = memoizeByReference((assignments: readonly RoleAssignment[]) =>
    Map.groupBy(assignments, ({ scope }) => (scope.kind === 'project' ? namespaceOfScope(scope) : '')),
  );
  const made = memoizeByReference((_: QualifiedIdentity) =>
    memoizeByReference((_: readonly RoleAssignment[]) => new Map<string, QualifiedIdentity>()),
  );

  function namespaceOfScope({ project: { id, name, domain } }: ProjectScope): string | undefined {
    return namespaceOf({ id, name, domainID: domain.id });
  }

  function memoized(
    identity: QualifiedIdentity,
    assignments: readonly RoleAssignment[],
    held: readonly ScopedRoles[],
  ): QualifiedIdentity {
    const ofUser = made(identity)(assignments);
    const key = held.map(({ scope }) => scopeKey(scope)).join(' ');
    const known = ofUser.get(key) ?? withRoles(identity, held);
    ofUser.set(key, known);
    return known;
  }

  async function facts(
    identity: Identity,
    userID: string,
  ): Promise<{ readonly assignments: readonly RoleAssignment[]; readonly disabled: DisabledScopes }> {
    const [assignments, disabled] = await Promise.all([
      options.assignments.lookup(userID, async () => {
        const value = await source.roleAssignmentsOf(userID);
        return { value, expiresAt: NO_END, tags: options.tagsOf(identity, value) };
      }),
      options.disabled.lookup('disabled', async () => ({
        value: await source.disabledScopes(),
        expiresAt: NO_END,
        tags: options.disabledTags,
      })),
    ]);
    if (assignments !== undefined && disabled !== undefined) return { assignments, disabled };
    throw new StatusError('KeystoneUnavailable', "Service Unavailable: the user's roles cannot be learned");
  }

  return {
    async inScope(identity, roleScope) {
      if (identity.assignmentsOf === undefined) return identity;
      const { assignments, disabled } = await facts(identity, identity.assignmentsOf);
      const groups = byNamespace(assignments);
      const concerned = [...new Set(['', roleScope.namespace])].flatMap((name) => groups.get(name) ?? []);
      return memoized(identity, assignments, rolesInScope(concerned, roleScope, { disabled, namespaceOf }));
    },
    async projectNamespaces(identity, domainID) {
      if (identity.assignmentsOf === undefined || domainID === undefined) return [];
      const { assignments, disabled } = await facts(identity, identity.assignmentsOf);
      return projectNamespaces(assignments, domainID, { disabled, namespaceOf });
    },
  };
}

/** The scopes and roles that were looked up, for the audit log: `project 3f…: member, reader; domain …`. */
export const ROLES_ANNOTATION = 'keystone.stonegate.dev/roles';

/** Role names that are unambiguous in that list; others are quoted. */
const PLAIN = /^[\p{L}\p{N}_.-]+$/u;

/**
 * Adds the groups that tokens with these scopes would have. Extra fields and the shown scope can hold one
 * scope: the narrowest, so that project and roles in them belong together.
 *
 * @param held the narrowest scope first
 * @returns the identity itself if no roles count
 * @throws StatusError IdentityUnusable if a name or an id cannot be part of a Kubernetes identity
 */
export function withRoles(identity: QualifiedIdentity, held: readonly ScopedRoles[]): QualifiedIdentity {
  const [narrowest] = held;
  if (narrowest === undefined) return identity;
  for (const { scope, roles } of held) refuseUnusableScope(scope, roles);
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

/**
 * The forms in the shared cache, in which another version may have written an entry. Another form needs
 * another name.
 */

export const assignmentsCodec = jsonCodec('keystone-roles', z.array(roleAssignmentSchema).readonly());

export const enabledUserCodec = jsonCodec('keystone-enabled-user', referenceInDomain);

const idsSchema = z.array(z.string()).transform((ids): ReadonlySet<string> => new Set(ids));

export const disabledScopesCodec = {
  ...jsonCodec('keystone-disabled', z.strictObject({ projectIDs: idsSchema, domainIDs: idsSchema })),
  encode: ({ projectIDs, domainIDs }: DisabledScopes): string =>
    JSON.stringify({ projectIDs: [...projectIDs], domainIDs: [...domainIDs] }),
};
