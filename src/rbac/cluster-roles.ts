/**
 * The cluster roles that Keystone roles are bound to by default: `read` ⊂ `control` ⊂ `edit` ⊂
 * `manage`. Their rules are complete because a tenant of Arktos has no `view` and `edit` of its own.
 * docs/bindings.md describes them.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles
 */
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';

export const READ_VERBS = ['get', 'list', 'watch'];
export const WRITE_VERBS = ['create', 'update', 'patch', 'delete', 'deletecollection'];
const CHANGE = ['update', 'patch'];

/** The words for the roles `stonegate:read` to `stonegate:manage`; each contains the one before. */
export const LEVELS = ['read', 'control', 'edit', 'manage'] as const;
export type Level = (typeof LEVELS)[number];

const WORKLOADS = ['deployments', 'replicasets', 'statefulsets'];
const SCALES = ['deployments/scale', 'replicasets/scale', 'statefulsets/scale'];
/** Arktos still serves workloads under this group too. */
const EXTENSIONS = ['daemonsets', 'deployments', 'ingresses', 'networkpolicies', 'replicasets'];

/** Reads everything in a namespace, logs included, except secrets. */
const READ: readonly PolicyRule[] = [
  rule('', READ_VERBS, [
    'configmaps',
    'endpoints',
    'events',
    'limitranges',
    'namespaces',
    'namespaces/status',
    'persistentvolumeclaims',
    'persistentvolumeclaims/status',
    'persistentvolumes',
    'pods',
    'pods/log',
    'pods/status',
    'replicationcontrollers',
    'replicationcontrollers/scale',
    'replicationcontrollers/status',
    'resourcequotas',
    'resourcequotas/status',
    'serviceaccounts',
    'services',
    'services/status',
  ]),
  rule('apps', READ_VERBS, [
    'controllerrevisions',
    'daemonsets',
    'daemonsets/status',
    ...WORKLOADS,
    ...WORKLOADS.map((resource) => `${resource}/status`),
    ...SCALES,
  ]),
  rule('extensions', READ_VERBS, [...EXTENSIONS, 'deployments/scale', 'replicasets/scale']),
  rule('autoscaling', READ_VERBS, ['horizontalpodautoscalers', 'horizontalpodautoscalers/status']),
  rule('batch', READ_VERBS, ['cronjobs', 'cronjobs/status', 'jobs', 'jobs/status']),
  rule('networking.k8s.io', READ_VERBS, ['ingresses', 'ingresses/status', 'networkpolicies']),
  rule('policy', READ_VERBS, ['poddisruptionbudgets', 'poddisruptionbudgets/status']),
  rule('discovery.k8s.io', READ_VERBS, ['endpointslices']),
  rule('events.k8s.io', READ_VERBS, ['events']),
  rule('storage.k8s.io', READ_VERBS, ['storageclasses']),
  rule('apiextensions.k8s.io', READ_VERBS, ['customresourcedefinitions']),
];

/**
 * Operates workloads without changing their definition: exec, restart, scale. A user who can exec into a pod
 * can read the secrets mounted there.
 */
const CONTROL: readonly PolicyRule[] = [
  ...READ,
  // Connections over WebSocket begin with a GET.
  rule('', ['create', 'get'], ['pods/attach', 'pods/exec', 'pods/portforward']),
  rule('', ['get', ...WRITE_VERBS], ['pods/proxy', 'services/proxy']),
  rule('', ['create'], ['pods/eviction']),
  rule('', ['delete', 'deletecollection'], ['pods']),
  rule('', CHANGE, ['replicationcontrollers/scale']),
  rule('apps', CHANGE, SCALES),
  rule('extensions', CHANGE, ['deployments/scale', 'replicasets/scale']),
];

/**
 * Writes all ordinary objects, secrets included, but no RBAC objects, no endpoints (they could route traffic
 * to other namespaces, CVE-2021-25740) and no namespaces (a RoleBinding would cover the namespace itself,
 * whose labels state its owner).
 */
const EDIT: readonly PolicyRule[] = [
  ...CONTROL,
  rule('', WRITE_VERBS, [
    'configmaps',
    'persistentvolumeclaims',
    'pods',
    'replicationcontrollers',
    'serviceaccounts',
    'services',
  ]),
  rule('', [...READ_VERBS, ...WRITE_VERBS], ['secrets']),
  rule('', CHANGE, ['pods/ephemeralcontainers']),
  rule('', ['create'], ['serviceaccounts/token']),
  rule('', ['create', ...CHANGE], ['events']),
  rule('apps', WRITE_VERBS, ['daemonsets', ...WORKLOADS]),
  rule('extensions', WRITE_VERBS, EXTENSIONS),
  rule('autoscaling', WRITE_VERBS, ['horizontalpodautoscalers']),
  rule('batch', WRITE_VERBS, ['cronjobs', 'jobs']),
  rule('networking.k8s.io', WRITE_VERBS, ['ingresses', 'networkpolicies']),
  rule('policy', WRITE_VERBS, ['poddisruptionbudgets']),
  rule('coordination.k8s.io', [...READ_VERBS, ...WRITE_VERBS], ['leases']),
];

const RBAC = 'rbac.authorization.k8s.io';

/** Writes RBAC objects; the API server prevents users from granting more than they have. */
const MANAGE: readonly PolicyRule[] = [
  ...EDIT,
  rule(RBAC, [...READ_VERBS, ...WRITE_VERBS], ['roles', 'rolebindings']),
  rule('authorization.k8s.io', ['create'], ['localsubjectaccessreviews']),
];

/** Self reviews. An ordinary cluster has `system:basic-user` for them. */
const BASIC_USER: readonly PolicyRule[] = [
  rule('authorization.k8s.io', ['create'], ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']),
  rule('authentication.k8s.io', ['create'], ['selfsubjectreviews']),
];

export const BASIC_USER_ROLE = 'stonegate:basic-user';

/** The roles of an ordinary cluster by name, the weaker before the stronger. */
export const CLUSTER_ROLES: ReadonlyMap<string, readonly PolicyRule[]> = new Map([
  ['stonegate:read', READ],
  ['stonegate:control', CONTROL],
  ['stonegate:edit', EDIT],
  ['stonegate:manage', MANAGE],
  [BASIC_USER_ROLE, BASIC_USER],
]);

/** `manage` contains all of these, so binding them grants nothing beyond it. In every tenant, or cluster. */
export const GIVEN_BY_MANAGE: readonly string[] = LEVELS.map((level) => `stonegate:${level}`);

/**
 * The roles of a tenant of Arktos. Arktos checks a binding against the *system* tenant's role of that name,
 * unless the user has the right to `bind` the role. Without that right no role of the tenant could be
 * bound.
 */
export const TENANT_CLUSTER_ROLES: typeof CLUSTER_ROLES = new Map([
  ...CLUSTER_ROLES,
  [
    'stonegate:manage',
    [...MANAGE, { ...rule(RBAC, ['bind'], ['clusterroles']), resourceNames: GIVEN_BY_MANAGE }],
  ],
]);

function rule(group: string, verbs: readonly string[], resources: readonly string[]): PolicyRule {
  return { apiGroups: [group], resources, verbs };
}
