/**
 * The lease by which replicas agree on the one that runs a controller.
 */

import type { Build } from '../config/build.ts';
import type { Objects } from '../kubernetes/objects.ts';
import { createLease, type Lease } from '../kubernetes/reconcile/lease.ts';

/** It exists in every cluster, and in the system tenant of every Arktos. */
const NAMESPACE = 'kube-system';

/**
 * @param controller unique
 * @param objects with the provisioning credential
 */
export function createControllerLease(
  { loaded, runtime }: Build,
  controller: string,
  objects: Objects,
): Lease {
  const { tenancy } = loaded.configuration;
  return createLease({
    ...runtime,
    objects,
    place: { ...(tenancy.mode === 'arktos' && { tenant: tenancy.systemTenant }), namespace: NAMESPACE },
    name: `stonegate-${controller}`,
  });
}
