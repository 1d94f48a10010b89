/**
 * The extension point that decides who may enter another tenant than their own, and the names of the policies
 * that let users in.
 */
import type { NonResourceRequest, ResourceRequest } from '../kubernetes/request-info.ts';
import type { Guest } from '../tenancy/tenancy-mode.ts';

/**
 * `abac`: a line of the operator's file. `tenant`: a CrossTenantPolicy. `administration`: of several tenants.
 */
export const POLICY_FORMS = ['abac', 'tenant', 'administration'] as const;
export type PolicyForm = (typeof POLICY_FORMS)[number];

export interface PolicyReference {
  readonly form: PolicyForm;
  /** Unique among the policies of its form; among those of the tenant, if the form is `tenant`. */
  readonly name: string;
  /** Its name in the audit log: file and line, or the object. */
  readonly source: string;
}

/** A request of a user for another tenant than their own. */
export interface Entry extends Guest {
  readonly groups: readonly string[];
}

/** The parts of a request on which policies decide. */
export type PolicyAttributes =
  | Pick<NonResourceRequest, 'isResourceRequest'>
  | Pick<
      ResourceRequest,
      'isResourceRequest' | 'verb' | 'apiGroup' | 'resource' | 'subresource' | 'namespace' | 'name'
    >;

export interface Permit {
  readonly policy: PolicyReference;
  /** When the policy ends, in milliseconds since the epoch; it has no end without it. */
  readonly notAfter?: number;
}

export interface Policies {
  /**
   * The policy under which the request is allowed: the first by form and name. For a request that
   * names no resource (discovery), any policy that lets the user in. Pure on the policies in force.
   *
   * @param now milliseconds since the epoch
   * @returns undefined if no policy allows it, whether or not the tenant exists
   */
  permits(entry: Entry, attributes: PolicyAttributes, now: number): Permit | undefined;
  /** The policies that let the user into the tenant, whatever they allow there; by form and name. */
  admitting(entry: Entry, now: number): readonly PolicyReference[];
}

/** The guest's group that the bindings in the entered tenant name. */
export function policyGroup(policy: Pick<PolicyReference, 'form' | 'name'>): string {
  return `stonegate:policy:${policyName(policy)}`;
}

/** The name as written in audit events and explanations. */
export function policyName({ form, name }: Pick<PolicyReference, 'form' | 'name'>): string {
  return `${form}:${name}`;
}
