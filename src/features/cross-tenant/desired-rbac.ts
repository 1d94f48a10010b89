/**
 * The roles and bindings that give guests in each entered tenant what policies say. A binding names the
 * policy's group, which the proxy alone sends. Its name is a digest, so that every replica computes the same
 * object.
 */
import { hash } from 'node:crypto';
import type {
  Binding,
  ClusterRole,
  NamedObjectMeta,
  PolicyRule,
} from '../../kubernetes/kubernetes-object.ts';
import { MANAGED_BY, STONEGATE } from '../../kubernetes/managed-labels.ts';
import { policyGroup } from '../../proxy/tenant-entry.ts';
import { grantableRules } from '../../rbac/grantable-rules.ts';
import type { Policy } from './policy.ts';

const RBAC = 'rbac.authorization.k8s.io';
const RBAC_VERSION = `${RBAC}/v1`;

/** Label every object made of a policy, so that the reconciler can delete those that no policy asks for. */
export const POLICY_LABELS = {
  form: 'stonegate.dev/policy-form',
  policy: 'stonegate.dev/policy',
} as const;

/** The annotation with the reason of an administration. */
export const REASON = 'stonegate.dev/reason';

/** An object of a tenant; a RoleBinding's `metadata.namespace` is set. */
export interface DesiredPolicyObject {
  readonly tenant: string;
  readonly object: ClusterRole | Binding;
}

export interface DesiredRBACOptions {
  /** The existing tenants: nothing is written into others. */
  readonly tenants: ReadonlySet<string>;
  readonly systemTenant: string;
  /** `access.grantable`. */
  readonly grantable: readonly PolicyRule[];
}

/**
 * Roles come before the bindings that name them, and those of the system tenant first.
 *
 * Each name also gets a role in the system tenant, which nothing binds: if a writer of a binding has no right
 * to bind the name, Arktos compares the writer's rights with the system tenant's role of that name. The role
 * contains all that policies may grant, so a user who may not grant that can bind none of these names.
 */
export function desiredRBAC(
  policies: readonly Policy[],
  { tenants, systemTenant, grantable }: DesiredRBACOptions,
): DesiredPolicyObject[] {
  const written = policies.flatMap((policy) => {
    const entered = [...policy.tenants].filter((tenant) => tenants.has(tenant) && tenant !== systemTenant);
    return entered.length === 0 ? [] : [{ policy, entered }];
  });
  // Tenants may have policies of the same name.
  const byName = new Map(written.map(({ policy }) => [policyGroup(policy), policy]));
  const everything = grantableRules(grantable);
  const unbound = [...byName.values()].map(
    ({ form, name }): DesiredPolicyObject => ({
      tenant: systemTenant,
      object: roleOf({ form, name }, everything),
    }),
  );
  const granted = written.flatMap(({ policy, entered }) =>
    entered.flatMap((tenant) =>
      [roleOf(policy, policy.rules), ...bindingsOf(policy)].map((object) => ({ tenant, object })),
    ),
  );
  return [...unbound, ...granted];
}

type Described = Pick<Policy, 'form' | 'name' | 'reason' | 'notAfter'>;

function roleOf(policy: Described, rules: readonly PolicyRule[]): ClusterRole {
  return {
    apiVersion: RBAC_VERSION,
    kind: 'ClusterRole',
    metadata: metaOf(policy, policyGroup(policy)),
    rules,
  };
}

function bindingsOf(policy: Policy): Binding[] {
  const role = policyGroup(policy);
  const fields = {
    apiVersion: RBAC_VERSION,
    metadata: metaOf(policy, bindingName(role)),
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: RBAC, kind: 'Group', name: role }],
  } as const;
  if (policy.namespaces === 'all') return [{ ...fields, kind: 'ClusterRoleBinding' }];
  return [...policy.namespaces].sort().map((namespace) => ({
    ...fields,
    kind: 'RoleBinding',
    metadata: { ...fields.metadata, namespace },
  }));
}

function metaOf({ form, name, reason, notAfter }: Described, objectName: string): NamedObjectMeta {
  return {
    name: objectName,
    labels: {
      [MANAGED_BY]: STONEGATE,
      [POLICY_LABELS.form]: form,
      [POLICY_LABELS.policy]: name,
    },
    annotations: {
      // JSON replaces a lone surrogate: the object would always look changed.
      ...(reason !== undefined && { [REASON]: reason.toWellFormed() }),
      ...(notAfter !== undefined && { 'stonegate.dev/not-after': new Date(notAfter).toISOString() }),
    },
  };
}

function bindingName(role: string): string {
  return `stonegate-policy-${hash('sha256', role).slice(0, 40)}`;
}
