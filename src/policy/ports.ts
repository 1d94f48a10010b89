/**
 * What the pipeline asks of the policies in force, and the facts from which they follow. `clients/` reads
 * the facts from the API server.
 */
import type { TenantName } from '../api/identity.ts';
import type { PolicyRule } from '../api/kubernetes-object.ts';
import type { RequestInfo } from '../api/request-info.ts';
import type { CrossTenantPolicy, TenantAdministration } from '../api/tenancy-v1alpha1.ts';
import type { PolicyReference } from './policy.ts';

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

export interface Policies {
  /**
   * The policy under which the request is allowed: the first by form and name. For what is no resource
   * (discovery), any policy that lets the user in. Pure on the policies in force.
   *
   * @param now milliseconds since the epoch
   * @returns undefined if no policy allows it, whether or not the tenant exists
   */
  permits(entry: Entry, info: RequestInfo, now: number): PolicyReference | undefined;
  /** Whether any policy lets the user into the tenant at all. */
  admits(entry: Entry, now: number): boolean;
  /** Called after each change of the policies in force. @returns ends the calls */
  onChange(callback: () => void): () => void;
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
  /** Of all tenants; `metadata.tenant` is the tenant that they let users into. */
  readonly crossTenantPolicies: readonly CrossTenantPolicy[];
  /** Of the system tenant. */
  readonly administrations: readonly TenantAdministration[];
  readonly tenants: readonly TenantFacts[];
  /** The system tenant's. */
  readonly clusterRoles: ReadonlyMap<string, readonly PolicyRule[]>;
  readonly webhook: WebhookRegistration;
}
