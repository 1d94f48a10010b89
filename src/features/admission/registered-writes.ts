/**
 * The writes about which the admission webhook decides, as rules of its registration. An Arktos API server
 * calls one URL at most five times a second, so there each kind and operation has a URL of its own: the
 * registration, the webhook's listener and the proxy, which queues such writes fairly, share them.
 */

import {
  type Operation,
  type RegisteredRule,
  type ReviewedWrite,
  registeredRule,
} from '../../kubernetes/admissionregistration-v1.ts';
import { TENANCY_GROUP } from '../../kubernetes/custom-resource.ts';
import { KINDS } from '../../kubernetes/kubernetes-object.ts';
import { type PublishedKind, publishedKindsOf, resourceName } from '../../kubernetes/published-objects.ts';

export interface ReviewedKinds {
  readonly admission: { readonly systemKinds: readonly string[] };
  readonly publishing?: Parameters<typeof publishedKindsOf>[0];
}

/** The path of every review in shared mode, and on Arktos by registrations of earlier releases. */
export const ADMISSION_PATH = '/admission';
const PATH = /^\/admission(?:\/[a-z0-9.-]+){2,3}\/(?:create|update|delete)$/;

/** Whether reviews are posted to the path. The verdict does not depend on it: older registrations work. */
export function isReviewPath(path: string): boolean {
  return path === ADMISSION_PATH || PATH.test(path);
}

const RBAC = 'rbac.authorization.k8s.io';
export const WRITES = ['CREATE', 'UPDATE'] as const;
export const CHANGES = [...WRITES, 'DELETE'] as const;
const WORKLOADS = ['deployments', 'replicasets', 'daemonsets'];

/** Rules for kinds without a namespace, and for namespaces themselves. */
export function clusterRules(): RegisteredRule[] {
  return [
    registeredRule('', ['namespaces', 'namespaces/status', 'namespaces/finalize'], CHANGES),
    registeredRule('', ['nodes'], CHANGES),
    registeredRule('', ['persistentvolumes'], WRITES),
    registeredRule('apiextensions.k8s.io', ['customresourcedefinitions'], WRITES),
    registeredRule(RBAC, ['clusterroles', 'clusterrolebindings'], CHANGES),
  ];
}

/** @param systemKinds as kubectl names them */
export function namespacedRules(systemKinds: readonly string[]): RegisteredRule[] {
  return [
    registeredRule('', ['pods', 'pods/ephemeralcontainers', 'pods/resize'], WRITES),
    registeredRule('', ['pods/binding', 'bindings'], ['CREATE']),
    registeredRule('', ['podtemplates', 'replicationcontrollers'], WRITES),
    registeredRule('apps', [...WORKLOADS, 'statefulsets'], WRITES),
    registeredRule('batch', ['jobs', 'cronjobs'], WRITES),
    registeredRule(RBAC, ['roles', 'rolebindings'], CHANGES),
    ...systemKinds.map((kind) => {
      const [resource = '', ...group] = kind.split('.');
      return registeredRule(group.join('.'), [resource], WRITES);
    }),
  ];
}

/** Changes of RBAC kinds are registered in any case. */
const isOfOtherGroup = ({ group }: PublishedKind): boolean => group !== RBAC;

/**
 * Built-in kinds without the subresource `status`, through which the metadata of an object changes. Any other
 * kind may have it.
 */
const WITHOUT_STATUS: ReadonlySet<string> = new Set([
  'configmaps',
  'limitranges',
  'networkpolicies.networking.k8s.io',
  'secrets',
  'serviceaccounts',
]);

/** One rule for each group. */
export function publishedRules(
  kinds: readonly PublishedKind[],
  operations: readonly Operation[],
): RegisteredRule[] {
  const groups = Map.groupBy(kinds, ({ group }) => group);
  return [...groups].map(([group, of]) => {
    const resources = of.flatMap((kind) => {
      const hasStatus = kind.group !== RBAC && !WITHOUT_STATUS.has(resourceName(kind));
      return [kind.resource, ...(hasStatus ? [`${kind.resource}/status`] : [])];
    });
    return registeredRule(group, [...new Set(resources)], operations);
  });
}

/** Kinds of which every change of an object with Stonegate's label is reviewed. */
export function labelledKinds(publishing: ReviewedKinds['publishing']): PublishedKind[] {
  return [...publishedKindsOf(publishing).filter(isOfOtherGroup), KINDS.ResourceQuota];
}

/** CrossTenantPolicies count only if they are registered without any selector. */
const POLICY_RULE = registeredRule(
  TENANCY_GROUP,
  ['crosstenantpolicies', 'crosstenantpolicies/status'],
  WRITES,
);

/** The writes of CrossTenantPolicies, which have a registration of their own (Arktos). */
export function reviewedPolicyWrites(): ReviewedWrite[] {
  return writesIn([POLICY_RULE]);
}

/** All other reviewed writes (Arktos). */
export function reviewedWrites({ admission, publishing }: ReviewedKinds): ReviewedWrite[] {
  const published = publishedKindsOf(publishing).filter(isOfOtherGroup);
  const all = writesIn([
    ...clusterRules(),
    registeredRule('', ['tenants', 'tenants/status', 'tenants/finalize'], CHANGES),
    ...namespacedRules(admission.systemKinds),
    ...publishedRules(published, CHANGES),
  ]);
  const own = writesIn(publishedRules([KINDS.ResourceQuota], CHANGES));
  const labelled = own.map((write) => ({ ...write, onlyOwn: true }));
  return [...new Map([...labelled, ...all].map((write) => [write.path, write])).values()];
}

/** Subresources that Arktos does not have. */
const UNKNOWN: ReadonlySet<string> = new Set(['/pods/ephemeralcontainers', '/pods/resize']);
/** Kinds that belong to no tenant: the webhook decides about each of their deletions. */
const OF_NO_TENANT: ReadonlySet<string> = new Set(['/nodes', '/tenants']);

/** Lists each kind and operation once, without those that do not occur or that are always allowed. */
function writesIn(rules: readonly RegisteredRule[]): ReviewedWrite[] {
  const writes = new Map<string, ReviewedWrite>();
  for (const { apiGroups, resources, operations } of rules)
    for (const group of apiGroups)
      for (const resource of resources)
        for (const operation of operations) {
          const write = reviewedWrite(group, resource, operation);
          if (isNeeded(`${group}/${resource}`, operation)) writes.set(write.path, write);
        }
  return [...writes.values()];
}

function isNeeded(kind: string, operation: Operation): boolean {
  const isSubresource = kind.split('/').length > 2;
  if (UNKNOWN.has(kind)) return false;
  if (kind === '/pods/binding') return true;
  // No rule refuses it on Arktos: who may delete a namespace may delete all that is in it.
  if (kind === '/namespaces' && operation === 'DELETE') return false;
  return !isSubresource || operation === 'UPDATE';
}

function reviewedWrite(group: string, resource: string, operation: Operation): ReviewedWrite {
  const [kind = '', subresource] = resource.split('/');
  const verb = operation.toLowerCase();
  const action = subresource === undefined ? verb : `${verb}-${subresource}`;
  return {
    name: `${action}.${resourceName({ group, resource: kind })}.admission.stonegate.dev`,
    path: `${ADMISSION_PATH}/${group || 'core'}/${resource}/${verb}`,
    rule: { ...registeredRule(group, [resource], [operation]), apiGroups: groupsOf(group, resource) },
    onlyOwn: operation === 'DELETE' && !OF_NO_TENANT.has(`${group}/${resource}`),
  };
}

/** Arktos serves these workloads in an older group too: with one URL for both, a write is one call. */
function groupsOf(group: string, resource: string): readonly string[] {
  return group === 'apps' && WORKLOADS.includes(resource) ? [group, 'extensions'] : [group];
}
