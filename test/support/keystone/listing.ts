/**
 * The lists of the stand-in Keystone, for users who may read them: projects, domains, users, roles and role
 * assignments. Groups have no roles, and there are no inherited or implied roles: `effective` assignments are
 * those that were made, without those of the system, as in a real Keystone.
 */
import { createHash } from 'node:crypto';
import type { Directory, Domain, Limit, Target, User } from './directory.ts';
import { Refusal } from './login.ts';

/**
 * @param path below `/v3`
 * @returns undefined for paths that it does not serve
 * @throws Refusal
 */
export function listed(directory: Directory, path: string, query: URLSearchParams): object | undefined {
  const [, kind = '', id, part] = path.split('/');
  const enabled = (each: { readonly enabled: boolean }) =>
    query.get('enabled') === null || String(each.enabled) === query.get('enabled');
  const users = directory.users.filter((user) => !user.deleted);
  if (path === '/limits/model') return { model: { name: 'flat', description: '' } };
  if (id !== undefined) return one(directory, kind, id, part);
  switch (kind) {
    case 'domains':
      return page('domains', directory.domains.filter(enabled));
    case 'projects':
      return page(
        'projects',
        directory.projects
          .filter((project) => !project.deleted && enabled(project))
          .map(({ id, name, domain, enabled }) => ({ id, name, domain_id: domain.id, enabled })),
      );
    case 'users':
      return page('users', users.filter(enabled).map(userFields));
    case 'roles':
      return page('roles', directory.roles);
    case 'role_inferences':
      return page('role_inferences', []);
    case 'role_assignments':
      return page('role_assignments', assignments(directory, users, query));
    case 'services':
      return page('services', [{ id: SERVICE, name: 'kubernetes', type: 'container-orchestration' }]);
    case 'registered_limits':
      return page(
        'registered_limits',
        directory.limits.filter(({ of }) => of === undefined).map(limitFields),
      );
    case 'limits':
      return page('limits', directory.limits.filter(({ of }) => of !== undefined).map(limitFields));
    default:
      return undefined;
  }
}

const SERVICE = 'service-kubernetes';

function limitFields({ resource, limit, of }: Limit): object {
  const fields = { service_id: SERVICE, region_id: null, resource_name: resource };
  return of === undefined
    ? { ...fields, default_limit: limit }
    : {
        ...fields,
        resource_limit: limit,
        project_id: 'project' in of ? of.project.id : null,
        domain_id: 'domain' in of ? of.domain.id : null,
      };
}

function one({ users, domains }: Directory, kind: string, id: string, part: string | undefined) {
  const user = users.find((each) => each.id === id && !each.deleted);
  const domain = domains.find((each) => each.id === id);
  if (kind === 'users' && user)
    return part === 'groups' ? page('groups', groupsOf(user)) : { user: userFields(user) };
  if (kind === 'domains' && domain) return { domain };
  if (kind === 'users' || kind === 'domains') throw new Refusal(404, `Could not find ${kind}: ${id}.`);
  return undefined;
}

function assignments(directory: Directory, users: readonly User[], query: URLSearchParams): object[] {
  const id = query.get('user.id');
  const place = query.get('scope.project.id') ?? query.get('scope.domain.id');
  const effective = query.has('effective');
  if (id !== null && !users.some((user) => user.id === id))
    throw new Refusal(404, `Could not find user: ${id}.`);
  return directory.assignments
    .filter(({ user, target }) => {
      if (id === null ? user.deleted : user.id !== id) return false;
      if ('project' in target && target.project.deleted) return false;
      if (place !== null && idOf(target) !== place) return false;
      return 'system' in target ? !effective : !query.has('scope.system');
    })
    .map(({ user, role, target }) => ({
      links: { assignment: 'http://127.0.0.1/v3/somewhere' },
      scope: scopeFields(target),
      user: { id: user.id, name: user.name, domain: named(user.domain) },
      role: { id: role.id, name: role.name },
    }));
}

function idOf(target: Target): string | undefined {
  if ('project' in target) return target.project.id;
  return 'domain' in target ? target.domain.id : undefined;
}

function scopeFields(target: Target): object {
  if ('system' in target) return { system: { all: true } };
  if ('domain' in target) return { domain: named(target.domain) };
  const { id, name, domain } = target.project;
  return { project: { id, name, domain: named(domain) } };
}

function named({ id, name }: Domain) {
  return { id, name };
}

function userFields({ id, name, domain, enabled }: User) {
  return { id, name, domain_id: domain.id, enabled };
}

function groupsOf({ groups, domain }: User): object[] {
  return groups.map((name) => {
    const id = createHash('md5').update(`${domain.id} ${name}`).digest('hex');
    const links = { self: `http://127.0.0.1/v3/groups/${id}` };
    return { id, name, domain_id: domain.id, description: '', membership_expires_at: null, links };
  });
}

function page(key: string, members: readonly object[]): object {
  return { [key]: members, links: { next: null, self: `http://127.0.0.1/v3/${key}`, previous: null } };
}
