/**
 * A policy in force, whatever form it was written in: who may enter which tenants, and what they may do
 * there. The same rules are the ceiling that the proxy checks and the role that the provisioner writes.
 */

import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import type { PolicyReference } from '../../proxy/tenant-entry.ts';

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
