/**
 * The cluster roles that Keystone roles are bound to by default: `read` ⊂ `control` ⊂ `edit` ⊂
 * `manage`. Their rules are complete because a tenant of Arktos has no `view` and `edit` of its own.
 * docs/bindings.md describes them.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles
 */
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import { rule } from '../kubernetes/right.ts';

const READS = 'get list watch';
export const WRITES = 'create update patch delete deletecollection';
const READS_AND_WRITES = `${READS} ${WRITES}`;
const CHANGE = 'update patch';
export const READ_VERBS = READS.split(' ');
export const WRITE_VERBS = WRITES.split(' ');

/** The words for the roles `stonegate:read` to `stonegate:manage`; each contains the one before. */
export const LEVELS = ['read', 'control', 'edit', 'manage'] as const;
export type Level = (typeof LEVELS)[number];

const WORKLOADS = 'deployments replicasets statefulsets';
const SCALES = 'deployments/scale replicasets/scale statefulsets/scale';
/** Arktos still serves workloads under this group too. */
const EXTENSIONS = 'daemonsets deployments ingresses networkpolicies replicasets';

/** Reads everything in a namespace, logs included, except secrets. */
const READ: readonly PolicyRule[] = [
  rule(
    '',
    `configmaps endpoints events limitranges namespaces namespaces/status persistentvolumeclaims
     persistentvolumeclaims/status persistentvolumes pods pods/log pods/status replicationcontrollers
     replicationcontrollers/scale replicationcontrollers/status resourcequotas resourcequotas/status
     serviceaccounts services services/status`,
    READS,
  ),
  rule(
    'apps',
    `controllerrevisions daemonsets daemonsets/status ${WORKLOADS} deployments/status replicasets/status
     statefulsets/status ${SCALES}`,
    READS,
  ),
  rule('extensions', `${EXTENSIONS} deployments/scale replicasets/scale`, READS),
  rule('autoscaling', 'horizontalpodautoscalers horizontalpodautoscalers/status', READS),
  rule('batch', 'cronjobs cronjobs/status jobs jobs/status', READS),
  rule('networking.k8s.io', 'ingresses ingresses/status networkpolicies', READS),
  rule('policy', 'poddisruptionbudgets poddisruptionbudgets/status', READS),
  rule('discovery.k8s.io', 'endpointslices', READS),
  rule('events.k8s.io', 'events', READS),
  rule('storage.k8s.io', 'storageclasses', READS),
  rule('apiextensions.k8s.io', 'customresourcedefinitions', READS),
];

/**
 * Operates workloads without changing their definition: exec, restart, scale. A user who can exec into a pod
 * can read the secrets mounted there.
 */
const CONTROL: readonly PolicyRule[] = [
  ...READ,
  // Connections over WebSocket begin with a GET.
  rule('', 'pods/attach pods/exec pods/portforward', 'create get'),
  rule('', 'pods/proxy services/proxy', `get ${WRITES}`),
  rule('', 'pods/eviction', 'create'),
  rule('', 'pods', 'delete deletecollection'),
  rule('', 'replicationcontrollers/scale', CHANGE),
  rule('apps', SCALES, CHANGE),
  rule('extensions', 'deployments/scale replicasets/scale', CHANGE),
];

/**
 * Writes all ordinary objects, secrets included, but no RBAC objects, no endpoints (they could route traffic
 * to other namespaces, CVE-2021-25740) and no namespaces (a RoleBinding would cover the namespace itself,
 * whose labels state its owner).
 */
const EDIT: readonly PolicyRule[] = [
  ...CONTROL,
  rule('', 'configmaps persistentvolumeclaims pods replicationcontrollers serviceaccounts services', WRITES),
  rule('', 'secrets', READS_AND_WRITES),
  rule('', 'pods/ephemeralcontainers', CHANGE),
  rule('', 'serviceaccounts/token', 'create'),
  rule('', 'events', `create ${CHANGE}`),
  rule('apps', `daemonsets ${WORKLOADS}`, WRITES),
  rule('extensions', EXTENSIONS, WRITES),
  rule('autoscaling', 'horizontalpodautoscalers', WRITES),
  rule('batch', 'cronjobs jobs', WRITES),
  rule('networking.k8s.io', 'ingresses networkpolicies', WRITES),
  rule('policy', 'poddisruptionbudgets', WRITES),
  rule('coordination.k8s.io', 'leases', READS_AND_WRITES),
];

const RBAC = 'rbac.authorization.k8s.io';

/** Writes RBAC objects; the API server prevents users from granting more than they have. */
const MANAGE: readonly PolicyRule[] = [
  ...EDIT,
  rule(RBAC, 'roles rolebindings', READS_AND_WRITES),
  rule('authorization.k8s.io', 'localsubjectaccessreviews', 'create'),
];

/** Self reviews. An ordinary cluster has `system:basic-user` for them. */
const BASIC_USER: readonly PolicyRule[] = [
  rule('authorization.k8s.io', 'selfsubjectaccessreviews selfsubjectrulesreviews', 'create'),
  rule('authentication.k8s.io', 'selfsubjectreviews', 'create'),
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
    [...MANAGE, { ...rule(RBAC, 'clusterroles', 'bind'), resourceNames: GIVEN_BY_MANAGE }],
  ],
]);
