/**
 * Deletes what is stored for tenants that were deleted. That an object is such a one is known from the events
 * of tenants; before it is deleted the API server is asked once more, and says that there is no such tenant
 * or that its UID is another one. Every process does so: what another has deleted is gone already.
 */

import { ComponentType, RUNS, type Uses } from '../config/component.ts';
import { StatusError } from '../errors/status-error.ts';
import { KINDS, type Place, type ResourceKind } from '../kubernetes/kubernetes-object.ts';
import { MalformedObject } from '../kubernetes/list-watch.ts';
import { deleteExactly, type Objects } from '../kubernetes/objects.ts';
import { pause } from '../lib/clock.ts';
import type { Runtime } from '../lib/runtime.ts';
import type { FeatureBuild } from './build.ts';
import {
  isOwnedBy,
  readTenant,
  type TenantOwned,
  type TenantUIDs,
  WITHOUT_TENANT_UIDS,
} from './tenant-uids.ts';

export interface StoredForTenant extends TenantOwned {
  readonly id: string;
  readonly uid: string;
}

interface FormerObjectsOptions extends Pick<Runtime, 'clock' | 'logger'> {
  readonly kind: ResourceKind;
  readonly place: Place;
  /** All objects of the kind that this process knows. */
  readonly values: () => Iterable<StoredForTenant>;
  readonly tenants: Pick<TenantUIDs, 'isFormer'>;
  readonly objects: Pick<Objects, 'get' | 'delete'>;
}

/** Milliseconds. */
const INTERVAL = 5_000;

export function createFormerObjects(options: FormerObjectsOptions) {
  const { kind, place, values, tenants, objects, clock, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let running = Promise.resolve();

  async function sweep(): Promise<void> {
    const former = [...values()].filter((object) => tenants.isFormer(object));
    for (const [tenant, owned] of Map.groupBy(former, (object) => object.tenant)) {
      const found = await objects.get(KINDS.Tenant, {}, tenant, signal);
      const present = found && readTenant(found);
      for (const object of owned) {
        if (present !== undefined && isOwnedBy(object, present)) continue;
        await deleteExactly(objects, kind, place, object, signal);
        const { resource } = kind;
        logger.info({ tenant, resource, name: object.id }, 'deleted what was stored for a deleted tenant');
      }
    }
  }

  async function loop(): Promise<void> {
    while (!signal.aborted) {
      await pause(clock, INTERVAL, signal);
      try {
        if (!signal.aborted) await sweep();
      } catch (error) {
        if (!(error instanceof StatusError || error instanceof MalformedObject)) throw error;
        if (!signal.aborted)
          logger.warn(
            { error },
            `${kind.resource}: what was stored for a deleted tenant could not be deleted`,
          );
      }
    }
  }

  return {
    sweep,
    start(): void {
      running = loop();
    },
    stop(): Promise<void> {
      stopping.abort();
      return running;
    },
  };
}

const FORMER_OBJECTS = new ComponentType<ReturnType<typeof createFormerObjects>>(
  'deletion of what is stored for deleted tenants',
  RUNS,
);

/** @param uses the components that the options are from */
export function deleteFormerObjects(
  { scope, runtime, explains }: Pick<FeatureBuild, 'scope' | 'runtime' | 'explains'>,
  uses: Uses,
  options: Omit<FormerObjectsOptions, 'clock' | 'logger'>,
): void {
  if (explains || options.tenants === WITHOUT_TENANT_UIDS) return;
  scope.perGeneration(FORMER_OBJECTS, uses, () => createFormerObjects({ ...runtime, ...options }));
}
