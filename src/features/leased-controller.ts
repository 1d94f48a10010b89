/**
 * Creates a controller that runs on one replica at a time. The replicas agree on it by a lease with the
 * controller's name.
 */

import type { Build } from '../config/build.ts';
import type { Objects } from '../kubernetes/objects.ts';
import {
  type Controller,
  type ControllerOptions,
  createController,
} from '../kubernetes/reconcile/controller.ts';
import { createLease } from '../kubernetes/reconcile/lease.ts';
import type { Plan } from '../kubernetes/reconcile/plan.ts';
import { operatorPlace } from './tenancy-mode.ts';

/** It exists in every cluster, and in the system tenant of every Arktos. */
const NAMESPACE = 'kube-system';

/** @param objects with the provisioning credential */
export function createLeasedController<P extends Plan>(
  { loaded, runtime }: Build,
  objects: Objects,
  options: Omit<ControllerOptions<P>, 'lease' | 'clock' | 'random' | 'logger' | 'telemetry'>,
): Controller {
  const place = operatorPlace({ namespace: NAMESPACE }, loaded.configuration.tenancy);
  const lease = createLease({ ...runtime, objects, place, name: `stonegate-${options.name}` });
  return createController({ ...runtime, ...options, lease });
}
