/**
 * The rights that provisioning needs. To grant a role a user must have its rules, so the provisioner has the
 * rules of Stonegate's own roles and `bind` for other roles by name. It never has `escalate`, with which it
 * could create a role that allows anything.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
 */

import type { RoleTarget } from '../config/configuration.ts';
import { TENANCY_GROUP } from '../features/cross-tenant/tenancy-v1alpha1.ts';
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import { BASIC_USER_ROLE, CLUSTER_ROLES, TENANT_CLUSTER_ROLES } from '../rbac/cluster-roles.ts';
import { grantableRules } from '../rbac/grantable-rules.ts';
import { type PublishingNeeds, publishingRules } from './publishing-rules.ts';
import {
  boundClusterRole,
  manifestText,
  rule,
  type Subject,
  serviceAccountDocuments,
  subjectNotes,
} from './rbac-objects.ts';

export interface ProvisionerNeeds {
  readonly mode: 'arktos' | 'shared';
  /** Whether Stonegate's own roles are created, or only bound. */
  readonly createRoles: boolean;
  /** The roles that Keystone roles are bound to. */
  readonly targets: readonly RoleTarget[];
  /** What policies may grant besides `stonegate:manage`; undefined without cross-tenant policies. */
  readonly grantable?: readonly PolicyRule[] | undefined;
  /** Undefined if nothing is published. */
  readonly publishing?: PublishingNeeds | undefined;
}

const RBAC = 'rbac.authorization.k8s.io';

/** The rules of the ClusterRole. */
export function provisionerRules({
  mode,
  createRoles,
  targets,
  grantable,
  publishing,
}: ProvisionerNeeds): PolicyRule[] {
  const arktos = mode === 'arktos';
  const hasPolicies = grantable !== undefined;
  const bindings = ['rolebindings', ...(arktos ? ['clusterrolebindings'] : [])];
  const own = createRoles ? ownRoles(mode) : NONE;
  const clusterRoles = targets.flatMap((target) => ('clusterRole' in target ? [target.clusterRole] : []));
  const bound = [
    ...clusterRoles.filter((name) => !own.has(name)),
    // Without `bind`, Arktos compares the binding with the system tenant's role of that name.
    ...(arktos ? own.keys() : []),
  ];
  const roles = targets.flatMap((target) => ('role' in target ? [target.role] : []));
  return withoutCovered([
    rule('', [...(arktos ? ['tenants'] : []), 'namespaces'], ['get', 'list', 'create']),
    rule(RBAC, bindings, ['get', 'list', 'create', 'update', 'delete']),
    rule(
      RBAC,
      ['clusterroles'],
      [
        'get',
        'list',
        ...(createRoles || hasPolicies ? ['create', 'update'] : []),
        ...(hasPolicies ? ['delete'] : []),
      ],
    ),
    ...bindRule('clusterroles', bound),
    ...bindRule('roles', roles),
    // Replicas agree on the one that runs a controller by its Lease.
    rule('coordination.k8s.io', ['leases'], ['get', 'create', 'update']),
    ...[...own.values()].flat(),
    ...(hasPolicies ? policyRules(grantable) : []),
    ...(publishing ? publishingRules(mode, publishing) : []),
  ]);
}

/** What policies may grant, and their conditions. */
function policyRules(grantable: readonly PolicyRule[]): PolicyRule[] {
  return [
    rule(TENANCY_GROUP, ['crosstenantpolicies/status', 'tenantadministrations/status'], ['patch']),
    ...grantableRules(grantable),
  ];
}

const NONE: typeof CLUSTER_ROLES = new Map();

/**
 * All users of an ordinary cluster may create self reviews already, so the basic-user role is not created
 * there.
 */
function ownRoles(mode: ProvisionerNeeds['mode']): typeof CLUSTER_ROLES {
  if (mode === 'arktos') return TENANT_CLUSTER_ROLES;
  return new Map([...CLUSTER_ROLES].filter(([name]) => name !== BASIC_USER_ROLE));
}

function bindRule(resource: string, names: readonly string[]): PolicyRule[] {
  if (names.length === 0) return [];
  return [{ ...rule(RBAC, [resource], ['bind']), resourceNames: [...new Set(names)].sort() }];
}

/** Drops rules that another rule includes, so that every printed rule is needed. */
function withoutCovered(rules: readonly PolicyRule[]): PolicyRule[] {
  return rules.filter(
    (rule, index) =>
      !rules.some(
        (other, place) =>
          place !== index && includes(other, rule) && (place < index || !includes(rule, other)),
      ),
  );
}

function includes(larger: PolicyRule, smaller: PolicyRule): boolean {
  return (
    contains(larger.apiGroups, smaller.apiGroups) &&
    contains(larger.resources, smaller.resources) &&
    contains(larger.verbs, smaller.verbs) &&
    (larger.resourceNames === undefined || contains(larger.resourceNames, smaller.resourceNames))
  );
}

function contains(all: readonly string[] = [], some: readonly string[] | undefined): boolean {
  return some?.every((each) => all.includes(each)) ?? false;
}

/** @returns YAML for `kubectl apply -f -` */
export function provisionerManifests(needs: ProvisionerNeeds, subject: Subject): string {
  const { mode, createRoles, grantable } = needs;
  const held = createRoles
    ? `# It holds what it gives: the rules of stonegate:manage and the like. Where an administrator keeps these roles
# (bindings.createRoles: false) it may only bind them.`
    : `# It may bind the roles that the configuration names, and make none${grantable === undefined ? '' : ' but those of policies, whose rules it holds'}.`;
  const rules = provisionerRules(needs).map((each) => ({ rule: each }));
  return `# What Stonegate needs at the API server for provisioning (tenancy mode: ${mode}).
${subjectNotes(subject, mode, 'bindings')}
${held}
# Whoever holds this credential can give itself these rights in every namespace: keep it as you keep an administrator's.
${manifestText([...serviceAccountDocuments(subject), ...boundClusterRole('stonegate-provisioner', rules, subject)])}`;
}
