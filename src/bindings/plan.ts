/**
 * What has to change in the cluster for it to say what Keystone says. Made by a pure comparison (`difference.ts`),
 * shown by `stonegate sync --dry-run`, carried out by `apply.ts`.
 */
import type { KubernetesObject } from '../api/kubernetes-object.ts';
import type { Place } from './ports.ts';

export interface Change {
  readonly action: 'create' | 'update' | 'delete';
  /** As it shall be; for `delete` as it is. */
  readonly object: KubernetesObject;
  readonly place: Place;
  /** For whoever reads the plan: `the role member of the project web (3f…)`. */
  readonly reason: string;
}

/** Something Keystone has and the cluster cannot: reported, never worked around. */
export interface ProvisioningRefusal {
  /** `project web (3f…)`. */
  readonly subject: string;
  readonly reason: string;
}

export interface Plan {
  /** In the order in which they can be carried out: tenants, namespaces, roles, bindings; deletions last. */
  readonly changes: readonly Change[];
  readonly refusals: readonly ProvisioningRefusal[];
  /** How many bindings of ours are in each namespace or tenant, by `placeKey`: too many must not go at once. */
  readonly existingByPlace: ReadonlyMap<string, number>;
  /** Objects that are as they should be. */
  readonly unchanged: number;
}
