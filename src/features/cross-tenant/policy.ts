/**
 * A policy in force, whatever form it was written in, and the facts from which policies follow: who may enter
 * which tenants, and what they may do there. The same rules are the ceiling that the proxy checks and the
 * role that the provisioner writes.
 */

import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import type { PolicyReference } from '../../proxy/tenant-entry.ts';
import type { CrossTenantPolicy, TenantAdministration } from './tenancy-v1alpha1.ts';

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
