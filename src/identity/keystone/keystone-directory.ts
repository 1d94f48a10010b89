/**
 * Lists Keystone's projects, domains and role assignments with Stonegate's own credential. `effective` omits
 * assignments on the system: they are listed separately and cached for seconds.
 * https://docs.openstack.org/api-ref/identity/v3/#list-role-assignments
 */
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { memoizeFor } from '../../lib/memoize.ts';
import type { Output } from '../../lib/schema-fields.ts';
import type {
  AssignmentScope,
  RoleAssignment,
  RoleReference,
  UserReference,
} from '../../tenancy/keystone-v3.ts';
import type { EnabledUsers } from '../owners.ts';
import { keystoneUnavailable } from './keystone-http.ts';
import { createKeystoneLists, LIST_TIMEOUT } from './keystone-lists.ts';
import {
  assignmentSchema,
  inferenceSchema,
  referenceSchema,
  systemAssignmentSchema,
  withImpliedRoles,
} from './keystone-response.ts';
import type { KeystoneService } from './keystone-service.ts';

const domainSchema = referenceSchema.extend({ enabled: z.boolean() });
const projectSchema = domainSchema
  .extend({ domain_id: z.string().min(1) })
  .transform(({ domain_id: domainID, ...project }) => ({ ...project, domainID }));
const userSchema = domainSchema.extend({ domain_id: z.string().min(1) });
const switchSchema = domainSchema.pick({ id: true, enabled: true });

export type KeystoneDomain = Output<typeof domainSchema>;
export type KeystoneProject = Output<typeof projectSchema>;

export interface KeystoneDirectory {
  /**
   * All domains, including disabled ones.
   *
   * @throws StatusError KeystoneUnavailable, as every function here
   */
  domains(): Promise<readonly KeystoneDomain[]>;
  projects(): Promise<readonly KeystoneProject[]>;
  /** Ids of disabled users; role assignments do not include this. */
  disabledUserIDs(): Promise<ReadonlySet<string>>;
  /** Role assignments of all users, on projects and domains. */
  roleAssignments(): Promise<readonly RoleAssignment[]>;
  /** Role assignments of all users, on one project or one domain. */
  roleAssignmentsOn(place: {
    readonly kind: 'project' | 'domain';
    readonly id: string;
  }): Promise<readonly RoleAssignment[]>;
  /** Names of all roles that are not specific to a domain. */
  roleNames(): Promise<readonly string[]>;
}

export interface DisabledScopes {
  readonly projectIDs: ReadonlySet<string>;
  readonly domainIDs: ReadonlySet<string>;
}

export interface AssignmentSource extends EnabledUsers {
  /**
   * Disabled projects and domains: no role counts there.
   *
   * @throws StatusError KeystoneUnavailable
   */
  disabledScopes(): Promise<DisabledScopes>;
  /**
   * Role assignments of one user, on projects, domains and the system; empty for an unknown user.
   *
   * @throws StatusError KeystoneUnavailable
   */
  roleAssignmentsOf(userID: string): Promise<readonly RoleAssignment[]>;
}

/** Maximum age of cached system assignments, in milliseconds. */
const SYSTEM_AGE = 5_000;
const ALL_ASSIGNMENTS = '/role_assignments?effective&include_names';
const SYSTEM = '/role_assignments?scope.system=all&include_names';

export interface KeystoneDirectoryOptions {
  readonly service: KeystoneService;
  readonly clock: Clock;
}

export function createKeystoneDirectory({
  service,
  clock,
}: KeystoneDirectoryOptions): KeystoneDirectory & AssignmentSource {
  const { find, all, one } = createKeystoneLists(service);
  const systemRoles = memoizeFor(SYSTEM_AGE, clock, async () => {
    const assignments = await all(SYSTEM, 'role_assignments', systemAssignmentSchema);
    const inferences =
      assignments.length === 0 ? [] : await all('/role_inferences', 'role_inferences', inferenceSchema);
    return { assignments, inferences };
  });

  /** Includes the roles of the user's groups. */
  async function systemRolesOf(userID: string): Promise<RoleReference[]> {
    const { assignments, inferences } = await systemRoles();
    const held = assignments.filter(({ user }) => user?.id === userID);
    const ofGroups = assignments.filter(({ group }) => group !== undefined);
    if (ofGroups.length > 0) {
      const path = `/users/${encodeURIComponent(userID)}/groups`;
      const groups = new Set((await find(path, 'groups', referenceSchema))?.map(({ id }) => id));
      held.push(...ofGroups.filter(({ group }) => group !== undefined && groups.has(group.id)));
    }
    return withImpliedRoles(
      held.map(({ role }) => role),
      inferences,
    );
  }

  async function enabledUser(userID: string): Promise<UserReference | undefined> {
    const user = await one(`/users/${encodeURIComponent(userID)}`, 'user', userSchema);
    if (user?.id !== userID || !user.enabled) return undefined;
    const domain = await one(`/domains/${encodeURIComponent(user.domain_id)}`, 'domain', domainSchema);
    if (!domain?.enabled) return undefined;
    return { id: userID, name: user.name, domain: { id: domain.id, name: domain.name } };
  }

  return {
    domains: () => all('/domains', 'domains', domainSchema, LIST_TIMEOUT),
    projects: () => all('/projects', 'projects', projectSchema, LIST_TIMEOUT),
    async disabledUserIDs() {
      return idsOfDisabled(await all('/users?enabled=false', 'users', switchSchema, LIST_TIMEOUT));
    },
    roleAssignments: () => all(ALL_ASSIGNMENTS, 'role_assignments', assignmentSchema, LIST_TIMEOUT),
    async roleAssignmentsOn({ kind, id }) {
      const path = `${ALL_ASSIGNMENTS}&scope.${kind}.id=${encodeURIComponent(id)}`;
      const held = await all(path, 'role_assignments', assignmentSchema);
      return held.filter(({ scope }) => scopeID(scope) === id);
    },
    async roleAssignmentsOf(userID) {
      const path = `/role_assignments?user.id=${encodeURIComponent(userID)}&effective&include_names`;
      const held = await find(path, 'role_assignments', assignmentSchema);
      if (held === undefined) return [];
      const own = held.filter(({ user }) => user.id === userID);
      if (own.length < held.length) throw keystoneUnavailable('the response is about another user');
      const onSystem = await systemRolesOf(userID);
      if (onSystem.length === 0) return held;
      const user = held[0]?.user ?? (await enabledUser(userID));
      if (user === undefined) return [];
      return [
        ...held,
        ...onSystem.map((role): RoleAssignment => ({ user, role, scope: { kind: 'system' } })),
      ];
    },
    enabledUser,
    async roleNames() {
      return (await all('/roles', 'roles', referenceSchema, LIST_TIMEOUT)).map(({ name }) => name);
    },
    async disabledScopes() {
      const [projects, domains] = await Promise.all([
        all('/projects?enabled=false', 'projects', switchSchema),
        all('/domains?enabled=false', 'domains', switchSchema),
      ]);
      return { projectIDs: idsOfDisabled(projects), domainIDs: idsOfDisabled(domains) };
    },
  };
}

/** Checked here too: a Keystone that ignores the filter lists other scopes. */
function scopeID(scope: AssignmentScope): string | undefined {
  if (scope.kind === 'project') return scope.project.id;
  return scope.kind === 'domain' ? scope.domain.id : undefined;
}

/** Checked here too: a Keystone that ignores the filter lists enabled ones. */
function idsOfDisabled(all: readonly z.infer<typeof switchSchema>[]): ReadonlySet<string> {
  return new Set(all.filter(({ enabled }) => !enabled).map(({ id }) => id));
}
