/**
 * The changes that make the cluster match Keystone. `difference.ts` computes a plan, `stonegate sync
 * --dry-run` shows it, `apply.ts` carries it out.
 */
import type { KubernetesObject } from '../api/kubernetes-object.ts';
import type { Place } from './ports.ts';

export interface Change {
  readonly action: 'create' | 'update' | 'delete';
  /** The desired object; for `delete` the existing one. */
  readonly object: KubernetesObject;
  readonly place: Place;
  /** Shown to the operator: `the role member of the project web (3f…)`. */
  readonly reason: string;
}

/** Something of Keystone that cannot be provisioned: it is reported, never worked around. */
export interface ProvisioningRefusal {
  /** `project web (3f…)`. */
  readonly subject: string;
  readonly reason: string;
}

export interface Plan {
  /** In the order of execution: tenants, namespaces, roles, bindings; deletions last. */
  readonly changes: readonly Change[];
  readonly refusals: readonly ProvisioningRefusal[];
  /** Number of managed bindings in each namespace or tenant, by `placeKey`, for the deletion guard. */
  readonly existingByPlace: ReadonlyMap<string, number>;
  /** Number of objects that match already. */
  readonly unchanged: number;
}
