/**
 * A policy in force, whatever form it was written in: who may enter which tenants, and what they may do
 * there. The same rules are the ceiling that the proxy checks and the role that the provisioner writes.
 */
import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';

/** `abac`: the operator's file. `tenant`: a CrossTenantPolicy. `administration`: of a set of tenants. */
export const POLICY_FORMS = ['abac', 'tenant', 'administration'] as const;
export type PolicyForm = (typeof POLICY_FORMS)[number];

export interface PolicyReference {
  readonly form: PolicyForm;
  /** Unique among the policies of its form; among those of the tenant, if the form is `tenant`. */
  readonly name: string;
  /** What the audit log calls it: file and line, or the object. */
  readonly source: string;
}

/** Every condition that is present must hold; one is present. */
export interface PolicySubject {
  /** The user's own tenant. */
  readonly tenant: string;
  /** The name within that tenant; `*` is every user of it. */
  readonly user?: string;
  readonly group?: string;
}

export interface Policy extends PolicyReference {
  readonly subjects: readonly PolicySubject[];
  /** The tenants that they may enter: never the system tenant. */
  readonly tenants: ReadonlySet<string>;
  /** Without `all`, no request that has no namespace is within the policy. */
  readonly namespaces: 'all' | ReadonlySet<string>;
  /** Concrete: no `*`, and nothing beyond what the provisioner may grant. */
  readonly rules: readonly PolicyRule[];
  /** Milliseconds since the epoch. */
  readonly notAfter?: number;
  /** Why, if its author said so. */
  readonly reason?: string;
}

/** The guest's group that the bindings in the entered tenant name. */
export function policyGroup(policy: Pick<PolicyReference, 'form' | 'name'>): string {
  return `stonegate:policy:${policyName(policy)}`;
}

/** The name as written in audit events and explanations. */
export function policyName({ form, name }: Pick<PolicyReference, 'form' | 'name'>): string {
  return `${form}:${name}`;
}
