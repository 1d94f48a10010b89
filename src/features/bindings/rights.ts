/**
 * The rights at the API server that provisioning needs. To grant a role a user must have its rules, so the
 * provisioner has the rules of Stonegate's own roles and `bind` for other roles by name.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
 */

import type { ClusterRole } from '../../kubernetes/kubernetes-object.ts';
import { type Condition, type ProvisionerRight, rule, withoutCovered } from '../../kubernetes/right.ts';
import { BASIC_USER_ROLE, CLUSTER_ROLES, TENANT_CLUSTER_ROLES } from '../../rbac/cluster-roles.ts';
import type { TenancyFacts } from '../../tenancy/facts.ts';
import { managedLabels } from './managed-object.ts';

const RBAC = 'rbac.authorization.k8s.io';

type OwnRoleFacts = Pick<TenancyFacts, 'hasTenantsInPaths'>;

/**
 * All users of an ordinary cluster may create self reviews already, so the basic-user role is not created
 * there.
 */
function ownRoles({ hasTenantsInPaths }: OwnRoleFacts): typeof CLUSTER_ROLES {
  if (hasTenantsInPaths) return TENANT_CLUSTER_ROLES;
  return new Map([...CLUSTER_ROLES].filter(([name]) => name !== BASIC_USER_ROLE));
}

/** Stonegate's own roles as objects of a cluster or of a tenant. */
export function ownClusterRoles(facts: OwnRoleFacts): ClusterRole[] {
  return [...ownRoles(facts)].map(([name, rules]) => ({
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name, ...managedLabels({}) },
    rules,
  }));
}

/** The roles that the provisioner also creates, and the conditions under which it does. */
const CREATED = [
  { when: ['bindings.createRoles', 'hasTenantsInPaths'], roles: ownRoles({ hasTenantsInPaths: true }) },
  { when: ['bindings.createRoles', '!hasTenantsInPaths'], roles: ownRoles({ hasTenantsInPaths: false }) },
];

const CREATE = 'get list create';
const WRITE = `${CREATE} update delete`;

export const PROVISIONING_RIGHTS: readonly ProvisionerRight[] = [
  { when: ['hasTenantsInPaths'], rule: rule('', 'tenants namespaces', CREATE) },
  { when: ['!hasTenantsInPaths'], rule: rule('', 'namespaces', CREATE) },
  { when: ['quota.keystoneLimits'], rule: rule('', 'resourcequotas', `${CREATE} update`) },
  { when: ['hasTenantsInPaths'], rule: rule(RBAC, 'rolebindings clusterrolebindings', WRITE) },
  { when: ['!hasTenantsInPaths'], rule: rule(RBAC, 'rolebindings', WRITE) },
  { when: ['bindings.createRoles'], rule: rule(RBAC, 'clusterroles', `${CREATE} update`) },
  { when: ['!bindings.createRoles'], rule: rule(RBAC, 'clusterroles', 'get list') },
  bindRight('clusterRole', ['!bindings.createRoles']),
  ...CREATED.flatMap(({ when, roles }) => {
    const names = [...roles.keys()];
    return [
      { ...bindRight('clusterRole', [...when, 'comparesBoundRoles']), except: names },
      // Without `bind`, Arktos compares the binding with the system tenant's role of that name.
      bindRight('clusterRole', [...when, '!comparesBoundRoles'], names),
    ];
  }),
  bindRight('role', []),
  // Replicas agree on the one that runs a controller by its Lease.
  { when: [], rule: rule('coordination.k8s.io', 'leases', 'get create update') },
  ...CREATED.flatMap(({ when, roles }) =>
    withoutCovered([...roles.values()].flat().map((rule) => ({ when, rule }))),
  ),
];

/** The right to bind the configuration's roles, of which a ClusterRole may be written as its name alone. */
function bindRight(kind: 'clusterRole' | 'role', when: readonly Condition[], resourceNames: string[] = []) {
  const targets = ['bindings', 'bindings.projects.*', 'bindings.domains.*'].map((at) => `${at}.roles.*`);
  return {
    when,
    rule: { ...rule(RBAC, `${kind.toLowerCase()}s`, 'bind'), resourceNames },
    namesAt: targets.flatMap((at) => [...(kind === 'clusterRole' ? [at] : []), `${at}.${kind}`]),
  };
}
