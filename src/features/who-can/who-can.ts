/**
 * Answers who can do something: the subjects in the index that the asking user may see, with Keystone's
 * names, and the users who need no binding.
 */

import { StatusError } from '../../errors/status-error.ts';
import { SERVICE_ACCOUNT_PREFIX } from '../../kubernetes/reserved-names.ts';
import { SubjectFilter, type Viewer } from '../../proxy/subject-owner.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { Scope } from '../../rbac/attributes.ts';
import { isKnownClusterScoped } from '../../rbac/cluster-scoped.ts';
import { SYSTEM_MASTERS } from '../../rbac/decide.ts';
import { escalationOf } from '../../rbac/escalating.ts';
import { groupKey, subjectOfKey } from '../../rbac/subject-key.ts';
import { isNamespaceObject, type SubjectGrant, type WhoCanQuestion, whoCan } from '../../rbac/who-can.ts';
import { knownScopes } from '../known-scopes.ts';
import { addHolders, holdersNow, type KeystoneNames, MAX_HOLDERS } from './keystone-names.ts';
import type { ObjectName, WhoCanGrant, WhoCanStatus } from './who-can-v1alpha1.ts';

export interface WhoCanOptions {
  readonly access: AccessIndex;
  /** Absent without Keystone, or without a service credential at it. */
  readonly keystone?: KeystoneNames | undefined;
  /** The user name of Stonegate's own credential, which may act as any user; undefined if it is unknown. */
  readonly ownUserName: string | undefined;
}

export interface WhoCanQuery {
  readonly question: WhoCanQuestion;
  /** The scope as it was asked. */
  readonly scope: Scope;
  readonly people: boolean;
}

const SYSTEM_MASTERS_KEY = groupKey(SYSTEM_MASTERS);
const MAX_GRANTS = 10_000;
const NO_PEOPLE = 'the people of a role are not known: Stonegate has no service credential at Keystone';

/** @throws StatusError AccessIndexUnavailable */
export async function reviewWhoCan(
  asked: WhoCanQuery,
  viewer: Viewer,
  options: WhoCanOptions,
): Promise<WhoCanStatus> {
  const { access } = options;
  const { tenant } = viewer.user;
  const warnings: string[] = [];
  const scope = countedScope(asked, warnings);
  const incomplete = access.incompleteReason(tenant, scope);
  if (access.state(tenant) === 'notSynced')
    throw new StatusError(
      'AccessIndexUnavailable',
      `it is not known yet who may do what: ${incomplete ?? 'try again'}`,
    );
  if (asked.people && options.keystone === undefined) warnings.push(NO_PEOPLE);
  const scopes = await knownScopes(options.keystone, warnings);
  const isCurrent = access.state(tenant) === 'current';
  const filter = new SubjectFilter(viewer, { index: access.index, isCurrent, scopes });
  const granted = whoCan(access.index.objectsOf(viewer.user.tenant), asked.question, scope, {
    grants: MAX_GRANTS,
    mayShow: ({ namespace }) => filter.mayList(namespace),
  });
  const effective = granted.grants.filter(({ key }) => mayAct(key, viewer, access.index));
  const { shown, others } = divide(effective, filter);
  for (const key of systemSubjects(asked.question, scope, viewer, access)) others.add(key);
  const described = describeAll(shown, asked.scope, filter);
  const people = asked.people ? await holdersNow(described, options.keystone, warnings) : new Map();
  const withPeople = addHolders(described, people);
  const word = escalationOf({ ...asked.question, namespace: '', tenant: '' });
  if (word !== undefined)
    warnings.push(
      `a subject that can do this can gain other rights by it: access tokens need +${word} for it`,
    );
  const reasons = [
    incomplete,
    granted.isCut ? `there are more than ${MAX_GRANTS} grants: ask in one namespace` : undefined,
    withPeople.isCut
      ? `of the people who hold the roles, the first ${MAX_HOLDERS} are listed: ask in one namespace`
      : undefined,
  ].filter((reason) => reason !== undefined);
  return {
    namespace: asked.scope === 'all' ? '' : asked.scope.namespace,
    ...namesOf(shown),
    grants: [...builtIn(options), ...withPeople.grants],
    otherTenants: others.size,
    evaluationError: granted.errors.join('; '),
    incomplete: reasons.length > 0,
    ...(reasons.length > 0 && { incompleteReason: reasons.join('; ') }),
    revision: String(access.index.revision),
    warnings,
  };
}

/** The scope of the bindings that are searched for a request of that kind. */
function countedScope({ question, scope }: WhoCanQuery, warnings: string[]): Scope {
  if ('path' in question) return { namespace: '' };
  const { apiGroup, resource, name } = question;
  const isNamespaces = apiGroup === '' && resource === 'namespaces';
  if (isNamespaces && isNamespaceObject(question)) return name === '' ? scope : { namespace: name };
  if (!isNamespaces && !isKnownClusterScoped(apiGroup, resource)) return scope;
  if (scope !== 'all' && scope.namespace !== '')
    warnings.push(
      `${question.verb} ${resource} is a request outside of namespaces, so RoleBindings do not apply`,
    );
  return { namespace: '' };
}

/** A binding of Arktos does not count for a user of another tenant whom it names. */
function mayAct(
  key: SubjectGrant['key'],
  { user: { tenant } }: Viewer,
  { systemTenant }: AccessIndex['index'],
): boolean {
  if (tenant === '' || tenant === systemTenant) return true;
  const { kind, name } = subjectOfKey(key);
  return kind === 'group' || name.startsWith(`${tenant}:`) || name.startsWith(SERVICE_ACCOUNT_PREFIX);
}

function divide(grants: readonly SubjectGrant[], filter: SubjectFilter) {
  const shown: SubjectGrant[] = [];
  const others = new Set<string>();
  for (const grant of grants) {
    // The API server does not evaluate its bindings.
    if (grant.key === SYSTEM_MASTERS_KEY) continue;
    if (filter.shows(grant)) shown.push(grant);
    else others.add(grant.key);
  }
  for (const { key } of shown) others.delete(key);
  return { shown, others };
}

/** Arktos: users of the system tenant act in every tenant, by the bindings of their own. */
function systemSubjects(
  question: WhoCanQuestion,
  scope: Scope,
  { user: { tenant } }: Viewer,
  { index }: AccessIndex,
): string[] {
  // A request without a resource is of no tenant.
  const { systemTenant } = index;
  if (tenant === '' || tenant === systemTenant || 'path' in question) return [];
  const limits = { grants: MAX_GRANTS, mayShow: () => false };
  const { grants } = whoCan(index.objectsOf(systemTenant), question, scope, limits);
  return grants.flatMap(({ key }) => (key === SYSTEM_MASTERS_KEY ? [] : `${systemTenant} ${key}`));
}

function namesOf(
  grants: readonly SubjectGrant[],
): Pick<WhoCanStatus, 'users' | 'groups' | 'serviceAccounts'> {
  const users = new Set<string>();
  const groups = new Set<string>([SYSTEM_MASTERS]);
  const serviceAccounts = new Set<string>();
  for (const { key } of grants) {
    const { kind, name } = subjectOfKey(key);
    if (kind === 'group') groups.add(name);
    else if (name.startsWith(SERVICE_ACCOUNT_PREFIX)) serviceAccounts.add(name);
    else users.add(name);
  }
  return { users: [...users], groups: [...groups], serviceAccounts: [...serviceAccounts] };
}

/** Users and groups that need no binding. */
function builtIn({ ownUserName }: WhoCanOptions): WhoCanGrant[] {
  const everywhere = { everywhere: true, namespace: '' };
  const masters: WhoCanGrant = {
    subject: { kind: 'Group', namespace: '', name: SYSTEM_MASTERS },
    by: 'builtIn',
    ...everywhere,
  };
  if (ownUserName === undefined) return [masters];
  return [masters, { subject: userNamed(ownUserName), by: 'impersonation', ...everywhere }];
}

function userNamed(name: string): ObjectName {
  if (!name.startsWith(SERVICE_ACCOUNT_PREFIX)) return { kind: 'User', namespace: '', name };
  const [namespace = '', account = ''] = name.slice(SERVICE_ACCOUNT_PREFIX.length).split(':');
  return { kind: 'ServiceAccount', namespace, name: account };
}

/** Each subject of bindings that the viewer may not list is described once. */
function describeAll(
  grants: readonly SubjectGrant[],
  scope: Scope,
  filter: SubjectFilter,
): readonly WhoCanGrant[] {
  const unnamed = new Set<string>();
  return grants.flatMap((grant) => {
    const { key, binding } = grant;
    const everywhere = binding.namespace === '';
    const isKnown = scope !== 'all' && binding.namespace === scope.namespace;
    const subject = subjectOf(key, filter);
    const where = { everywhere, namespace: binding.namespace };
    if (filter.mayList(binding.namespace)) return { subject, by: 'binding', ...where, ...bindingOf(grant) };
    const place = `${everywhere} ${key}`;
    if (unnamed.has(place)) return [];
    unnamed.add(place);
    return { subject, by: 'binding', everywhere, namespace: isKnown ? binding.namespace : '' };
  });
}

function subjectOf(key: SubjectGrant['key'], filter: SubjectFilter): WhoCanGrant['subject'] {
  const { kind, name } = subjectOfKey(key);
  if (kind !== 'group') return userNamed(name);
  const displayName = filter.displayName(name);
  return { kind: 'Group', namespace: '', name, ...(displayName !== undefined && { displayName }) };
}

function bindingOf({ binding, role }: SubjectGrant): Pick<WhoCanGrant, 'binding' | 'role'> {
  return {
    binding: {
      kind: binding.namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding',
      namespace: binding.namespace,
      name: binding.name,
    },
    role: {
      kind: role.namespace === '' ? 'ClusterRole' : 'Role',
      namespace: role.namespace,
      name: role.name,
    },
  };
}
