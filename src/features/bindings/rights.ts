/**
 * The rights at the API server that provisioning needs. To grant a role a user must have its rules, so the
 * provisioner has the rules of Stonegate's own roles and `bind` for other roles by name.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
 */

import type { ClusterRole, PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import { rule } from '../../kubernetes/right.ts';
import { BASIC_USER_ROLE, CLUSTER_ROLES, TENANT_CLUSTER_ROLES } from '../../rbac/cluster-roles.ts';
import type { TenancyFacts } from '../../tenancy/facts.ts';
import type { RoleTarget } from './bindings-configuration.ts';
import { managedLabels } from './managed-object.ts';

export interface ProvisioningNeeds {
  readonly facts: TenancyFacts;
  /** Whether Stonegate's own roles are created, or only bound. */
  readonly createRoles: boolean;
  /** The roles that Keystone roles are bound to. */
  readonly targets: readonly RoleTarget[];
  /** Whether projects get a ResourceQuota. */
  readonly projectQuotas?: boolean;
}

const RBAC = 'rbac.authorization.k8s.io';

export function provisioningRules({
  facts,
  createRoles,
  targets,
  projectQuotas,
}: ProvisioningNeeds): PolicyRule[] {
  const { hasTenantsInPaths, comparesBoundRoles } = facts;
  const bindings = ['rolebindings', ...(hasTenantsInPaths ? ['clusterrolebindings'] : [])];
  const own = createRoles ? ownRoles(facts) : NONE;
  const clusterRoles = targets.flatMap((target) => ('clusterRole' in target ? [target.clusterRole] : []));
  const bound = [
    ...clusterRoles.filter((name) => !own.has(name)),
    // Without `bind`, Arktos compares the binding with the system tenant's role of that name.
    ...(comparesBoundRoles ? [] : own.keys()),
  ];
  const roles = targets.flatMap((target) => ('role' in target ? [target.role] : []));
  return [
    rule('', [...(hasTenantsInPaths ? ['tenants'] : []), 'namespaces'], ['get', 'list', 'create']),
    ...(projectQuotas === true ? [rule('', ['resourcequotas'], ['get', 'list', 'create', 'update'])] : []),
    rule(RBAC, bindings, ['get', 'list', 'create', 'update', 'delete']),
    rule(RBAC, ['clusterroles'], ['get', 'list', ...(createRoles ? ['create', 'update'] : [])]),
    ...bindRule('clusterroles', bound),
    ...bindRule('roles', roles),
    // Replicas agree on the one that runs a controller by its Lease.
    rule('coordination.k8s.io', ['leases'], ['get', 'create', 'update']),
    ...[...own.values()].flat(),
  ];
}

const NONE: typeof CLUSTER_ROLES = new Map();

type OwnRoleFacts = Pick<TenancyFacts, 'hasTenantsInPaths'>;

/**
 * All users of an ordinary cluster may create self reviews already, so the basic-user role is not created
 * there.
 */
function ownRoles({ hasTenantsInPaths }: OwnRoleFacts): typeof CLUSTER_ROLES {
  if (hasTenantsInPaths) return TENANT_CLUSTER_ROLES;
  return new Map([...CLUSTER_ROLES].filter(([name]) => name !== BASIC_USER_ROLE));
}

/** The objects, of a cluster or of a tenant. */
export function ownClusterRoles(facts: OwnRoleFacts): ClusterRole[] {
  return [...ownRoles(facts)].map(([name, rules]) => ({
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name, ...managedLabels({}) },
    rules,
  }));
}

function bindRule(resource: string, names: readonly string[]): PolicyRule[] {
  if (names.length === 0) return [];
  return [{ ...rule(RBAC, [resource], ['bind']), resourceNames: [...new Set(names)].sort() }];
}
