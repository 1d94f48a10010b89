/**
 * A cluster as large as the RBAC index is built for: 10,000 namespaces, 100,000 bindings, 1,000 cluster
 * roles, and users in up to 200 groups. The same in every run.
 */
import { parse } from 'yaml';
import type { PolicyRule } from '../../src/kubernetes/kubernetes-object.ts';
import type { IndexedResource } from '../../src/kubernetes/rbac-v1.ts';
import type { RBACUser } from '../../src/rbac/attributes.ts';
import { rule } from '../support/policy-rule.ts';

export const SIZE = { namespaces: 10_000, bindingsPerNamespace: 10, clusterRoles: 1_000, groups: 200 };

const id = (number: number): string => number.toString(16).padStart(32, '0');
const uid = (number: number): string => `${id(number).slice(0, 8)}-0000-4000-8000-${id(number).slice(-12)}`;
export const MEMBERS = 'stonegate-1';
export const namespaceName = (number: number): string => `project-${String(number).padStart(5, '0')}`;
const projectGroup = (number: number, role: string): string => `keystone:project:${id(number)}:role:${role}`;

/** kube-apiserver writes into every object who set which of its fields. */
const MANAGED_FIELDS: readonly object[] = parse(`
  - manager: stonegate
    operation: Update
    apiVersion: v1
    time: 2026-01-01T00:00:00Z
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata:
        f:annotations: {.: {}, f:stonegate.dev/project-name: {}, f:stonegate.dev/domain-id: {}}
        f:labels: {.: {}, f:app.kubernetes.io/managed-by: {}, f:stonegate.dev/project-id: {}}`);

/** A resource and the pages of its list, as the API server sends them. */
export type ListTexts = Readonly<Record<IndexedResource, readonly string[]>>;

/** Objects of a page, as Stonegate requests them. */
const PAGE = 500;

export function createLists(): ListTexts {
  let revision = 0;
  const meta = (name: string, namespace?: string) => {
    revision += 1;
    return {
      name,
      ...(namespace !== undefined && { namespace }),
      uid: uid(revision),
      resourceVersion: String(revision),
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { 'app.kubernetes.io/managed-by': 'stonegate' },
      managedFields: MANAGED_FIELDS,
    };
  };
  const places = Array.from({ length: SIZE.namespaces }, (_, at) => at);
  const namespaces = places.map((at) => namespaceOf(meta(namespaceName(at)), at));
  const clusterroles = Array.from({ length: SIZE.clusterRoles }, (_, at) => ({
    metadata: meta(`role-${at}`),
    rules: rulesOf(at),
  }));
  const rolebindings = places.flatMap((place) =>
    Array.from({ length: SIZE.bindingsPerNamespace }, (_, at) => ({
      metadata: meta(`stonegate-${at}`, namespaceName(place)),
      roleRef: roleRef(at < 3 ? at : (place * 7 + at) % SIZE.clusterRoles),
      subjects: subjectsOf(place, at),
    })),
  );
  const clusterrolebindings = Array.from({ length: 100 }, (_, at) => ({
    metadata: meta(`operators-${at}`),
    roleRef: roleRef(at + 3),
    subjects: [group(`operators-${at}`)],
  }));
  const text = (items: readonly object[]) =>
    Array.from({ length: Math.max(1, Math.ceil(items.length / PAGE)) }, (_, at) =>
      JSON.stringify({
        metadata: { resourceVersion: String(revision) },
        items: items.slice(at * PAGE, (at + 1) * PAGE),
      }),
    );
  return {
    namespaces: text(namespaces),
    roles: text([]),
    clusterroles: text(clusterroles),
    rolebindings: text(rolebindings),
    clusterrolebindings: text(clusterrolebindings),
  };
}

/** A project's binding of the role `member`, which is given and taken in turn. */
export function bindingEvent(place: number, uid: string, revision: number): object {
  return {
    metadata: {
      name: MEMBERS,
      namespace: namespaceName(place),
      uid,
      resourceVersion: String(revision),
    },
    roleRef: roleRef(1),
    subjects: revision % 2 === 0 ? [] : [group(projectGroup(place, 'member'))],
  };
}

/** May see everything once `auditorsBinding` is there. */
export const AUDITOR: RBACUser = {
  tenant: '',
  username: 'acme:auditor',
  groups: ['system:authenticated', 'auditors'],
};

export function auditorsBinding(revision: number): object {
  return {
    metadata: { name: 'auditors', uid: uid(revision), resourceVersion: String(revision) },
    roleRef: roleRef(0),
    subjects: [group('auditors')],
  };
}

function roleRef(at: number) {
  return { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `role-${at}` };
}

function namespaceOf(metadata: { labels: object }, at: number): object {
  return {
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, 'stonegate.dev/project-id': id(at) },
      annotations: { 'stonegate.dev/project-name': `Project ${at}`, 'stonegate.dev/domain-id': id(at % 50) },
    },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
}

/** `role-0` administers, `role-1` edits, `role-2` reads; the others are those of applications. */
function rulesOf(at: number): PolicyRule[] {
  const kinds = ['pods', 'services', 'configmaps', 'secrets', 'events'];
  if (at === 0) return [rule('*', '*', '*')];
  const verbs =
    at === 2 ? ['get', 'list', 'watch'] : ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
  if (at < 3)
    return [
      { verbs, apiGroups: [''], resources: kinds },
      { verbs, apiGroups: ['apps'], resources: ['deployments', 'statefulsets', 'replicasets'] },
      rule('get', 'namespaces'),
    ];
  return [
    { verbs: ['get', 'list', 'watch'], apiGroups: [`app-${at}.example.com`], resources: [`kind-${at}`] },
    { verbs: ['update', 'patch'], apiGroups: [`app-${at}.example.com`], resources: [`kind-${at}/status`] },
    rule('create,patch', 'events'),
  ];
}

/** The first three are those of the project's roles; the others are for service accounts and users. */
function subjectsOf(place: number, at: number): object[] {
  if (at < 3) return [group(projectGroup(place, ['admin', 'member', 'reader'][at] ?? ''))];
  if (at < 8) return [{ kind: 'ServiceAccount', name: `app-${at}`, namespace: namespaceName(place) }];
  return [{ kind: 'User', name: `acme:user-${(place * 10 + at) % 5_000}` }];
}

function group(name: string): object {
  return { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name };
}

/** A member of 198 projects, each of which is a group. */
export function memberOf(user: number): RBACUser {
  const projects = Array.from(
    { length: SIZE.groups - 2 },
    (_, at) => (user * 37 + at * 50) % SIZE.namespaces,
  );
  return {
    tenant: '',
    username: `acme:user-${user}`,
    groups: [
      'stonegate:tenant:acme',
      'system:authenticated',
      ...projects.map((place) => projectGroup(place, 'member')),
    ],
  };
}
