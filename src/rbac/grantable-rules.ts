/**
 * What cross-tenant policies and administrations may grant: the rules of `stonegate:manage` and those of
 * `access.grantable`, without what would extend a policy from inside. The provisioner holds all of them, so
 * that the API server lets it write the roles of policies.
 */

import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import { CLUSTER_ROLES } from './cluster-roles.ts';
import { ESCALATING_VERBS } from './escalating.ts';

const MANAGE = CLUSTER_ROLES.get('stonegate:manage') ?? [];

/**
 * Reviews reveal rights of users of other tenants (on Arktos, of all); with Stonegate's own kinds a guest
 * could let others in.
 */
export const NEVER_GROUPS: ReadonlySet<string> = new Set([
  'authentication.k8s.io',
  'authorization.k8s.io',
  'stonegate.dev',
  'tenancy.stonegate.dev',
]);

/** A rule as the section `access.grantable` has it. */
export type WrittenRule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
};

/** A rule of one API group, without `*`. */
export interface GrantableRule extends PolicyRule {
  readonly apiGroups: readonly [string];
  readonly resources: readonly string[];
}

/** @param additional `access.grantable` */
export function grantableRules(additional: readonly PolicyRule[]): readonly GrantableRule[] {
  return withoutEscalation([...MANAGE, ...additional]);
}

/** The part of the rules that may be granted at all, one API group a rule. */
export function withoutEscalation(rules: readonly PolicyRule[]): readonly GrantableRule[] {
  return rules.flatMap(({ apiGroups = [], resources = [], resourceNames, verbs }): GrantableRule[] => {
    const left = verbs.filter((verb) => !ESCALATING_VERBS.has(verb));
    if (left.length === 0) return [];
    return apiGroups
      .filter((group) => !NEVER_GROUPS.has(group))
      .map((group) => ({
        apiGroups: [group],
        resources,
        ...(resourceNames !== undefined && { resourceNames }),
        verbs: left,
      }));
  });
}
