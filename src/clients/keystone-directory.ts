/**
 * Lists Keystone's projects, domains and role assignments with Stonegate's own credential, which needs
 * `reader` on the system. A truncated or invalid list is refused as a whole, since rights of missing entries
 * would be removed. `effective` omits assignments on the system: they are listed separately and cached for
 * seconds.
 * https://docs.openstack.org/api-ref/identity/v3/#list-role-assignments
 */
import type { RoleReference, UserReference } from '../api/keystone-v3.ts';
import type {
  AssignmentScope,
  AssignmentSource,
  KeystoneDirectory,
  RoleAssignment,
} from '../bindings/ports.ts';
import type { Clock } from '../lib/clock.ts';
import type { JSONObject } from '../lib/json-object.ts';
import { SingleFlight } from '../lib/single-flight.ts';
import { keystoneUnavailable } from './keystone-http.ts';
import {
  type Implications,
  readAssignment,
  readImplication,
  readReference,
  readSystemAssignment,
  requireArray,
  requireBoolean,
  requireObject,
  requireString,
  type SystemAssignment,
  withImpliedRoles,
} from './keystone-response.ts';
import type { KeystoneService } from './keystone-service.ts';

/** Timeout of a complete list, in milliseconds; no request waits for one. */
const LIST_TIMEOUT = 60_000;
const MAX_PAGES = 1_000;
/** Maximum age of cached system assignments, in milliseconds. */
const SYSTEM_AGE = 5_000;
const READER = 'the role reader on the system, and a login to the system';
const ALL_ASSIGNMENTS = '/role_assignments?effective&include_names';
const SYSTEM = '/role_assignments?scope.system=all&include_names';

export interface KeystoneDirectoryOptions {
  readonly service: KeystoneService;
  readonly clock: Clock;
}

interface SystemRoles {
  readonly at: number;
  readonly assignments: readonly SystemAssignment[];
  readonly implications: Implications;
}

type Read<T> = (member: unknown) => T;

export function createKeystoneDirectory({
  service,
  clock,
}: KeystoneDirectoryOptions): KeystoneDirectory & AssignmentSource {
  const flight = new SingleFlight<SystemRoles>();
  let cached: SystemRoles | undefined;

  /** @returns undefined if there is no such object */
  async function find<T>(
    path: string,
    key: string,
    read: Read<T>,
    timeout?: number,
  ): Promise<T[] | undefined> {
    const found: T[] = [];
    const asked = new Set<string>();
    for (let next: string | undefined = path; next !== undefined; ) {
      if (asked.size === MAX_PAGES || asked.has(next))
        throw keystoneUnavailable(new Error(`${key} has no end`));
      asked.add(next);
      const response = await service.get({
        path: next,
        to: `list ${key}`,
        needs: READER,
        ...(timeout !== undefined && { timeout }),
      });
      if (response === undefined) return undefined;
      next = takePage(response.body, path, key, (member) => found.push(read(member)));
    }
    return found;
  }

  async function all<T>(path: string, key: string, read: Read<T>, timeout?: number): Promise<T[]> {
    const found = await find(path, key, read, timeout);
    if (found === undefined) throw keystoneUnavailable(new Error(`Keystone knows no ${key}`));
    return found;
  }

  async function askSystem(): Promise<SystemRoles> {
    const at = clock.now();
    const assignments = await all(SYSTEM, 'role_assignments', readSystemAssignment);
    const inferences =
      assignments.length === 0 ? [] : await all('/role_inferences', 'role_inferences', readImplication);
    cached = { at, assignments, implications: new Map(inferences) };
    return cached;
  }

  async function systemRoles(): Promise<SystemRoles> {
    const known = cached;
    return known !== undefined && clock.now() < known.at + SYSTEM_AGE
      ? known
      : flight.do('system', askSystem);
  }

  /** Includes the roles of the user's groups. */
  async function systemRolesOf(userID: string): Promise<RoleReference[]> {
    const { assignments, implications } = await systemRoles();
    const held = assignments.filter(({ holder }) => 'user' in holder && holder.user.id === userID);
    const ofGroups = assignments.filter(({ holder }) => 'groupID' in holder);
    if (ofGroups.length > 0) {
      const path = `/users/${encodeURIComponent(userID)}/groups`;
      const groups = new Set(await find(path, 'groups', (group) => readReference(group, 'groups[]').id));
      held.push(...ofGroups.filter(({ holder }) => 'groupID' in holder && groups.has(holder.groupID)));
    }
    return withImpliedRoles(
      held.map(({ role }) => role),
      implications,
    );
  }

  async function one(path: string, key: string): Promise<JSONObject | undefined> {
    const response = await service.get({ path, to: `read ${path.split('/')[1]}`, needs: READER });
    return response && believed(() => requireObject(response.body[key], key));
  }

  /** Needed if none of the user's assignments contains the user. */
  async function userOf(userID: string): Promise<UserReference | undefined> {
    const user = await one(`/users/${encodeURIComponent(userID)}`, 'user');
    if (user === undefined) return undefined;
    const domainID = believed(() => requireString(user.domain_id, 'user.domain_id'));
    const domain = await one(`/domains/${encodeURIComponent(domainID)}`, 'domain');
    return (
      domain && believed(() => ({ ...readReference(user, 'user'), domain: readReference(domain, 'domain') }))
    );
  }

  return {
    domains: () => all('/domains', 'domains', readDomain, LIST_TIMEOUT),
    projects: () => all('/projects', 'projects', readProject, LIST_TIMEOUT),
    async disabledUserIDs() {
      const users = await all('/users?enabled=false', 'users', readSwitch('users[]'), LIST_TIMEOUT);
      return idsOfDisabled(users);
    },
    roleAssignments: () => all(ALL_ASSIGNMENTS, 'role_assignments', readAssignment, LIST_TIMEOUT),
    async roleAssignmentsOn({ kind, id }) {
      const path = `${ALL_ASSIGNMENTS}&scope.${kind}.id=${encodeURIComponent(id)}`;
      const held = await all(path, 'role_assignments', readAssignment);
      return held.filter(({ scope }) => scopeID(scope) === id);
    },
    async roleAssignmentsOf(userID) {
      const path = `/role_assignments?user.id=${encodeURIComponent(userID)}&effective&include_names`;
      const held = await find(path, 'role_assignments', readAssignment);
      if (held === undefined) return [];
      const own = held.filter(({ user }) => user.id === userID);
      if (own.length < held.length)
        throw keystoneUnavailable(new Error('the response is about another user'));
      const onSystem = await systemRolesOf(userID);
      if (onSystem.length === 0) return held;
      const user = held[0]?.user ?? (await userOf(userID));
      if (user === undefined) return [];
      return [
        ...held,
        ...onSystem.map((role): RoleAssignment => ({ user, role, scope: { kind: 'system' } })),
      ];
    },
    roleNames: () => all('/roles', 'roles', (role) => readReference(role, 'roles[]').name, LIST_TIMEOUT),
    async disabledScopes() {
      const [projects, domains] = await Promise.all([
        all('/projects?enabled=false', 'projects', readSwitch('projects[]')),
        all('/domains?enabled=false', 'domains', readSwitch('domains[]')),
      ]);
      return { projectIDs: idsOfDisabled(projects), domainIDs: idsOfDisabled(domains) };
    },
  };
}

/**
 * @param take called with each member
 * @returns the path of the next page; undefined after the last
 * @throws StatusError KeystoneUnavailable for an incomplete page
 */
function takePage(
  body: JSONObject,
  path: string,
  key: string,
  take: (member: unknown) => void,
): string | undefined {
  return believed(() => {
    for (const member of requireArray(body[key], key)) take(member);
    const next = body.links === undefined ? undefined : requireObject(body.links, 'links').next;
    if (typeof next === 'string') return samePlace(path, next);
    if (body.truncated === true) throw new Error(`Keystone has cut ${key} short: raise its list_limit`);
    return undefined;
  });
}

/** @throws StatusError KeystoneUnavailable if `read` throws */
function believed<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw keystoneUnavailable(error);
  }
}

/** Only the query of a link is used, so that Stonegate's token is not sent elsewhere. */
function samePlace(path: string, link: string): string {
  const query = link.indexOf('?');
  if (query === -1) throw new Error('the next page is no query');
  return `${path.split('?', 1)[0]}${link.slice(query)}`;
}

function readDomain(value: unknown) {
  return {
    ...readReference(value, 'domains[]'),
    enabled: requireBoolean(requireObject(value, 'domains[]').enabled, 'enabled'),
  };
}

function readProject(value: unknown) {
  const fields = requireObject(value, 'projects[]');
  const domainID = requireString(fields.domain_id, 'domain_id');
  return {
    ...readReference(fields, 'projects[]'),
    domainID,
    enabled: requireBoolean(fields.enabled, 'enabled'),
  };
}

/** Checked here too: a Keystone that ignores the filter lists other scopes. */
function scopeID(scope: AssignmentScope): string | undefined {
  if (scope.kind === 'project') return scope.project.id;
  return scope.kind === 'domain' ? scope.domain.id : undefined;
}

interface Switch {
  readonly id: string;
  readonly enabled: boolean;
}

function readSwitch(what: string): Read<Switch> {
  return (value) => {
    const fields = requireObject(value, what);
    return { id: requireString(fields.id, `${what}.id`), enabled: requireBoolean(fields.enabled, 'enabled') };
  };
}

/** Checked here too: a Keystone that ignores the filter lists enabled ones. */
function idsOfDisabled(all: readonly Switch[]): ReadonlySet<string> {
  return new Set(all.filter(({ enabled }) => !enabled).map(({ id }) => id));
}
