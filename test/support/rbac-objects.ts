/** Namespaces, roles and bindings as the RBAC index stores them, numbered by an increasing revision. */

import type { ResourceQuestion } from '../../src/kubernetes/authorizer-attributes.ts';
import type { PolicyRule } from '../../src/kubernetes/kubernetes-object.ts';
import type {
  LabelSelector,
  StoredBinding,
  StoredNamespace,
  StoredObject,
  StoredRole,
  StoredSubject,
} from '../../src/kubernetes/rbac-v1.ts';
import type { RBACUser } from '../../src/rbac/attributes.ts';
import { RBACIndex } from '../../src/rbac/rbac-index.ts';
import { rule } from './policy-rule.ts';
import { linesOf } from './rows.ts';

let last = 100;

/** A revision above all previous ones. */
export function nextRevision() {
  last += 1;
  return last;
}

function meta(name: string, tenant: string) {
  const revision = nextRevision();
  return { tenant, name, uid: `uid-${revision}`, revision };
}

export function namespace(
  name: string,
  { tenant = '', labels = {} }: { tenant?: string; labels?: Readonly<Record<string, string>> } = {},
): StoredNamespace {
  const base = meta(name, tenant);
  const json = JSON.stringify({
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: {
      name,
      uid: base.uid,
      resourceVersion: String(base.revision),
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(Object.keys(labels).length > 0 && { labels }),
    },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  });
  return {
    ...base,
    resource: 'namespaces',
    labels,
    phase: 'Active',
    creationTimestamp: '2026-01-01T00:00:00Z',
    json,
  };
}

export function clusterRole(
  name: string,
  rules: readonly PolicyRule[],
  more: {
    tenant?: string;
    labels?: Readonly<Record<string, string>>;
    aggregates?: readonly LabelSelector[];
  } = {},
): StoredRole {
  const { tenant = '', labels = {}, aggregates } = more;
  return {
    ...meta(name, tenant),
    resource: 'clusterroles',
    namespace: '',
    rules,
    labels,
    ...(aggregates && { aggregates }),
  };
}

export function role(place: string, name: string, rules: readonly PolicyRule[], tenant = ''): StoredRole {
  return { ...meta(name, tenant), resource: 'roles', namespace: place, rules, labels: {} };
}

/** @param roleRef `ClusterRole/edit` */
export function clusterRoleBinding(
  name: string,
  roleRef: string,
  subjects: readonly StoredSubject[],
  tenant = '',
): StoredBinding {
  return {
    ...meta(name, tenant),
    resource: 'clusterrolebindings',
    namespace: '',
    roleRef: roleRefOf(roleRef),
    subjects,
  };
}

/** @param roleRef `Role/reader` or `ClusterRole/edit` */
export function roleBinding(
  place: string,
  name: string,
  roleRef: string,
  subjects: readonly StoredSubject[],
  tenant = '',
): StoredBinding {
  return {
    ...meta(name, tenant),
    resource: 'rolebindings',
    namespace: place,
    roleRef: roleRefOf(roleRef),
    subjects,
  };
}

function roleRefOf(text: string): StoredBinding['roleRef'] {
  const slash = text.indexOf('/');
  return { kind: text.slice(0, slash), name: text.slice(slash + 1) };
}

export function user(name: string): StoredSubject {
  return { kind: 'User', name, namespace: '' };
}

export function group(name: string): StoredSubject {
  return { kind: 'Group', name, namespace: '' };
}

export function serviceAccount(name: string, place = ''): StoredSubject {
  return { kind: 'ServiceAccount', name, namespace: place };
}

/** Objects as `rbacObject` reads them, one a line. */
export function rbacObjects(text: string, tenant = '') {
  return linesOf(text).map((line) => rbacObject(line, tenant));
}

/**
 * @param line `Namespace web`, `ClusterRole reader: get pods; list nodes`, `Role web/reader: …`,
 * `RoleBinding web/team: Role/reader to User acme:alice, Group ops, ServiceAccount robot` or
 * `ClusterRoleBinding all: ClusterRole/reader to ServiceAccount kube-system/robot`
 */
export function rbacObject(line: string, tenant = '') {
  const parts = /^(\w+) (?:([^/: ]+)\/)?(\S+?)(?:: (.*))?$/.exec(line) ?? [];
  const [, kind, place = '', name = '', content = ''] = parts;
  const [roleRef = '', given = ''] = content.split(' to ');
  const subjects = given.split(', ').map(subjectOf);
  const rules = content === '' ? [] : content.split('; ').map(ruleOf);
  switch (kind) {
    case 'Namespace':
      return namespace(name, { tenant });
    case 'ClusterRole':
      return clusterRole(name, rules, { tenant });
    case 'Role':
      return role(place, name, rules, tenant);
    case 'ClusterRoleBinding':
      return clusterRoleBinding(name, roleRef, subjects, tenant);
    case 'RoleBinding':
      return roleBinding(place, name, roleRef, subjects, tenant);
    default:
      throw new TypeError(line);
  }
}

/** @param text the arguments of `rule`: `get,list pods` or `* deployments,deployments/scale apps` */
function ruleOf(text: string) {
  const [verbs = '', resources = '', groups] = text.split(' ');
  return rule(verbs, resources, groups);
}

function subjectOf(text: string): StoredSubject {
  const [kind, name = ''] = text.split(' ');
  const [last = '', place] = name.split('/').reverse();
  return kind === 'ServiceAccount'
    ? serviceAccount(last, place)
    : kind === 'Group'
      ? group(name)
      : user(name);
}

export function rbacUser(username: string, groups: readonly string[] = [], tenant = ''): RBACUser {
  return { tenant, username, groups };
}

/** A question such as `get pods/log` in a namespace, by default of the core group. */
export function question(
  verb: string,
  resource: string,
  place = '',
  more: Partial<ResourceQuestion> = {},
): ResourceQuestion {
  const [kind = '', subresource = ''] = resource.split('/', 2);
  return { verb, apiGroup: '', resource: kind, subresource, namespace: place, name: '', tenant: '', ...more };
}

/** An index that has listed these objects. */
export function indexOf(...objects: readonly (StoredNamespace | StoredRole | StoredBinding)[]): RBACIndex {
  const index = new RBACIndex();
  listInto(index, objects);
  return index;
}

/** Makes the index list exactly these objects. */
export function listInto(index: RBACIndex, objects: readonly StoredObject[]) {
  const revision = nextRevision();
  for (const resource of [
    'namespaces',
    'roles',
    'clusterroles',
    'rolebindings',
    'clusterrolebindings',
  ] as const)
    index.replace(
      resource,
      objects.filter((object) => object.resource === resource),
      revision,
    );
}
