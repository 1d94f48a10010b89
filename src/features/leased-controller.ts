/**
 * Creates a controller that runs on one replica at a time. The replicas agree on it by a lease with the
 * controller's name.
 */

import type { Place } from '../kubernetes/kubernetes-object.ts';
import type { Objects } from '../kubernetes/objects.ts';
import {
  type Controller,
  type ControllerOptions,
  createController,
} from '../kubernetes/reconcile/controller.ts';
import { createLease } from '../kubernetes/reconcile/lease.ts';
import type { Plan } from '../kubernetes/reconcile/plan.ts';
import type { Runtime } from '../lib/runtime.ts';
import { type OperatorTenancy, operatorPlace } from '../tenancy/places.ts';

/** Where leases are: a namespace that exists in every cluster, and in the system tenant of every Arktos. */
export const leasePlace = (tenancy: OperatorTenancy): Place =>
  operatorPlace({ namespace: 'kube-system' }, tenancy);

/**
 * @param leases where the lease is
 * @param objects with the provisioning credential
 */
export function createLeasedController<P extends Plan>(
  runtime: Runtime,
  leases: Place,
  objects: Objects,
  options: Omit<ControllerOptions<P>, 'lease' | 'clock' | 'random' | 'logger' | 'telemetry'>,
): Controller {
  const lease = createLease({ ...runtime, objects, place: leases, name: `stonegate-${options.name}` });
  return createController({ ...runtime, ...options, lease });
}
