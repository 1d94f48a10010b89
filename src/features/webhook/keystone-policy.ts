/**
 * Decides by a policy of k8s-keystone-auth. What no entry allows is not denied, so that another authorizer
 * of the API server may still allow it. It is stricter than k8s-keystone-auth: subresources need an entry
 * in version 2 too (the right to create pods does not include `exec`), an entry without `users` applies to
 * users of Keystone only, and `users.domains` is not ignored.
 */
import type { Extra } from '../../kubernetes/authentication-v1.ts';
import type {
  NonResourceAttributes,
  ResourceAttributes,
  SubjectAccessReviewSpec,
} from '../../kubernetes/authorization-v1.ts';
import type { KeystonePolicy, NamePattern, PolicyEntry, ResourcePermission } from './policy-file.ts';

const IDENTITY = 'alpha.kubernetes.io/identity/';

/** Who asks, as a policy sees them. */
interface PolicySubject {
  /** Name and id. */
  readonly names: readonly string[];
  readonly groups: readonly string[];
  readonly roles: readonly string[];
  /** Ids and names. */
  readonly projects: readonly string[];
  /** Id and name of their own. */
  readonly domains: readonly string[];
}

/** Whether an entry allows what is asked; false says nothing but that none does. */
export function policyAllows(policy: KeystonePolicy, question: SubjectAccessReviewSpec): boolean {
  const subject = subjectOf(question);
  if (subject === undefined) return false;
  const { resourceAttributes, nonResourceAttributes } = question;
  return policy.some(
    (entry) =>
      concerns(entry.users, subject) &&
      (resourceAttributes === undefined
        ? allowsPath(entry, subject, nonResourceAttributes)
        : allowsObject(entry, subject, resourceAttributes)),
  );
}

/** @returns undefined for whom Keystone has not vouched for */
function subjectOf({
  user = '',
  uid = '',
  groups = [],
  extra = {},
}: SubjectAccessReviewSpec): PolicySubject | undefined {
  if (!Object.entries(extra).some(([key, values]) => key.startsWith(IDENTITY) && values.length > 0)) {
    return undefined;
  }
  return {
    names: [user, uid].filter((name) => name !== ''),
    groups,
    roles: attribute(extra, 'roles'),
    projects: [...attribute(extra, 'project/id'), ...attribute(extra, 'project/name')],
    domains: [...attribute(extra, 'user/domain/id'), ...attribute(extra, 'user/domain/name')],
  };
}

function attribute(extra: Extra, name: string): readonly string[] {
  const key = `${IDENTITY}${name}`;
  return Object.hasOwn(extra, key) ? (extra[key] ?? []) : [];
}

function concerns(users: PolicyEntry['users'], subject: PolicySubject): boolean {
  if (users === undefined) return true;
  return (
    users.roles.every((role) => subject.roles.includes(role)) &&
    users.projects.some((project) => subject.projects.includes(project)) &&
    (users.domains === undefined || users.domains.some((domain) => subject.domains.includes(domain)))
  );
}

function allowsObject(entry: PolicyEntry, subject: PolicySubject, asked: ResourceAttributes): boolean {
  const { resourcePermissions, resource, match } = entry;
  if (resourcePermissions !== undefined) {
    return resourcePermissions.some((permission) => allowsResource(permission, asked));
  }
  if (resource === undefined) return false;
  const { apiGroup, namespace, resources, verbs } = resource;
  return (
    (apiGroup === '*' || apiGroup === (asked.group ?? '')) &&
    (namespace === '*' || namespace === (asked.namespace ?? '')) &&
    allowsResource(
      { namespaces: { kind: 'every' }, resources: { kind: 'only', names: resources }, verbs },
      asked,
    ) &&
    matches(match, subject)
  );
}

function allowsPath(
  entry: PolicyEntry,
  subject: PolicySubject,
  { path = '', verb = '' }: NonResourceAttributes = {},
): boolean {
  const { nonResourcePermissions, nonresource, match } = entry;
  if (path === '') return false;
  if (nonResourcePermissions !== undefined) {
    const verbs = nonResourcePermissions.get(path);
    return verbs !== undefined && hasVerb(verbs, verb);
  }
  return (
    nonresource !== undefined &&
    hasVerb(nonresource.verbs, verb) &&
    coversPath(nonresource.path, path) &&
    matches(match, subject)
  );
}

/** A final `*` of the pattern stands for any rest; without a pattern no path is covered. */
function coversPath(pattern: string | undefined, path: string): boolean {
  return pattern?.endsWith('*') ? path.startsWith(pattern.replace(/\*+$/, '')) : path === pattern;
}

function matches(conditions: PolicyEntry['match'], subject: PolicySubject): boolean {
  return conditions.every(({ type, values }) => {
    const own = valuesOf(type, subject);
    return own !== undefined && (values.has('*') || own.some((value) => values.has(value)));
  });
}

/** @returns undefined for an unknown type, which matches no user, whatever its values */
function valuesOf(type: string, subject: PolicySubject): readonly string[] | undefined {
  switch (type) {
    case 'user':
      return subject.names;
    case 'group':
      return subject.groups;
    case 'project':
      return subject.projects;
    case 'role':
      return subject.roles;
    default:
      return undefined;
  }
}

function allowsResource(permission: ResourcePermission, asked: ResourceAttributes): boolean {
  const { namespace = '', resource = '', subresource = '', verb = '' } = asked;
  return (
    resource !== '' &&
    hasVerb(permission.verbs, verb) &&
    coversNamespace(permission.namespaces, namespace) &&
    coversResource(permission.resources, resource, subresource)
  );
}

function hasVerb(verbs: ReadonlySet<string>, verb: string): boolean {
  return verb !== '' && (verbs.has('*') || verbs.has(verb.toLowerCase()));
}

/**
 * Requests without a namespace (cluster-scoped objects, lists over all namespaces) are covered by `*` alone:
 * neither a namespace nor all but one are the whole cluster.
 */
function coversNamespace(pattern: NamePattern, namespace: string): boolean {
  if (pattern.kind === 'every') return true;
  if (namespace === '') return false;
  const named = pattern.names.has('*') || pattern.names.has(namespace);
  return pattern.kind === 'only' ? named : !named;
}

/** A resource that is left out takes its subresources with it; one that is named does not bring them. */
function coversResource(pattern: NamePattern, resource: string, subresource: string): boolean {
  if (pattern.kind === 'every') return true;
  const { names } = pattern;
  const named =
    names.has('*') ||
    (subresource === ''
      ? names.has(resource)
      : names.has(`${resource}/${subresource}`) || names.has(`${resource}/*`));
  return pattern.kind === 'only' ? named : !named && !names.has(resource);
}
