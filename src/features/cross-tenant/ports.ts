/**
 * What the pipeline asks of the policies in force, and the facts from which they follow. `clients/` reads
 * the facts from the API server.
 */

import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  RoleBinding,
} from '../../kubernetes/kubernetes-object.ts';
import type { NonResourceRequest, ResourceRequest } from '../../kubernetes/request-info.ts';
import type { TenantName } from '../../tenancy/identity.ts';
import type { PolicyForm, PolicyReference } from './policy.ts';
import type { CrossTenantPolicy, TenantAdministration } from './tenancy-v1alpha1.ts';

/** A request of a user for another tenant than their own. */
export interface Entry {
  /** The user's own tenant. */
  readonly home: TenantName;
  /** The user's name within it. */
  readonly name: string;
  readonly groups: readonly string[];
  /** The tenant to enter. */
  readonly tenant: TenantName;
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
   * The policy under which the request is allowed: the first by form and name. For what is no resource
   * (discovery), any policy that lets the user in. Pure on the policies in force.
   *
   * @param now milliseconds since the epoch
   * @returns undefined if no policy allows it, whether or not the tenant exists
   */
  permits(entry: Entry, attributes: PolicyAttributes, now: number): Permit | undefined;
  /** The policies that let the user into the tenant, whatever they allow there; by form and name. */
  admitting(entry: Entry, now: number): readonly PolicyReference[];
}

/** A tenant of the cluster. */
export interface TenantFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Whether and since when the webhook checks what authors of policies hold. */
export type WebhookRegistration =
  | { readonly registered: false }
  /** Milliseconds since the epoch; older policies were not checked. */
  | { readonly registered: true; readonly since: number };

/** Objects of the API server from which policies follow. */
export interface PolicyFacts {
  /** The policies of all tenants; `metadata.tenant` is the tenant that they let users into. */
  readonly crossTenantPolicies: readonly CrossTenantPolicy[];
  /** The TenantAdministrations, which are objects of the system tenant. */
  readonly administrations: readonly TenantAdministration[];
  readonly tenants: readonly TenantFacts[];
  /** The system tenant's. */
  readonly clusterRoles: ReadonlyMap<string, readonly PolicyRule[]>;
  readonly webhook: WebhookRegistration;
}

/** The facts as they are known now. */
export interface PolicyFactsSource {
  /** Empty where nothing is proven, or not lately. */
  facts(): PolicyFacts;
  /** The forms of policies of which all facts are current, in force or not. */
  currentForms(): ReadonlySet<PolicyForm>;
  /**
   * When the first of what is current is not so any more unless it is proven again, in milliseconds since the
   * epoch; undefined if nothing is current.
   */
  expiresAt(): number | undefined;
  /** Called after each change or proof. @returns ends the calls */
  onUpdate(callback: () => void): () => void;
}

/** What policies become in tenants. */
export type PolicyObject = ClusterRole | ClusterRoleBinding | RoleBinding;
