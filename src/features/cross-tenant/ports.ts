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
import type { PolicyForm } from '../../proxy/tenant-entry.ts';
import type { CrossTenantPolicy, TenantAdministration } from './tenancy-v1alpha1.ts';

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
