/**
 * The lease by which replicas agree on the one that runs a controller: a Lease of the API server, which every
 * cluster has. A replica takes it over if the holder has not renewed it for its duration by the replica's own
 * clock: clocks need not agree.
 * https://kubernetes.io/docs/concepts/architecture/leases/
 */

import { withDeadline } from '../../lib/clock.ts';
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { type Place, placeOf, type ResourceKind, type StoredObject } from '../kubernetes-object.ts';
import type { Objects } from '../objects.ts';

export interface Lease {
  /**
   * Acquires or renews the lease: of several replicas, the holder works.
   *
   * @returns false if another replica holds it
   * @throws StatusError, or an error after five seconds, if that cannot be found out; then no replica works
   */
  hold(): Promise<boolean>;
  /** Releases the lease if this process holds it. @throws as `hold` */
  release(): Promise<void>;
}

/** Lease duration in milliseconds: if the holder crashes, no replica works for so long. */
export const LEASE_TTL = 15_000;
/** Milliseconds between renewals by the holder. A failed one ends the run. */
export const LEASE_RENEWAL = 4_000;
/** Milliseconds between attempts of the other replicas. */
export const LEASE_STANDBY = 2_000;
/** Milliseconds in which the lease must be read and written. */
const TIMEOUT = 5_000;

const LEASES: ResourceKind = {
  group: 'coordination.k8s.io',
  version: 'v1',
  resource: 'leases',
  namespaced: true,
};

export interface LeaseOptions extends Pick<Runtime, 'clock' | 'random'> {
  /** Sends requests with a credential that may get, create and update the Lease. */
  readonly objects: Objects;
  readonly place: Place;
  readonly name: string;
}

export function createLease({ objects, place, name, clock, random }: LeaseOptions): Lease {
  const own = random.uuid();
  /** The holder's last renewal, and when it was first seen here. */
  let seen: { readonly renewal: string; readonly at: number } | undefined;

  /** Whether it is this replica's, no one's, or its holder's time is over. */
  function mayTake({ holderIdentity, renewTime, leaseTransitions }: JSONObject): boolean {
    if ((holderIdentity ?? '') === '' || holderIdentity === own) return true;
    const renewal = JSON.stringify([holderIdentity, renewTime, leaseTransitions]);
    if (seen?.renewal !== renewal) seen = { renewal, at: clock.now() };
    return clock.now() - seen.at >= LEASE_TTL;
  }

  function leaseFor(holder: string, spec: JSONObject = {}) {
    const now = new Date(clock.now()).toISOString().replace('Z', '000Z');
    const isChange = spec.holderIdentity !== holder;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, ...placeOf({ namespace: place.namespace }) },
      spec: {
        ...spec,
        ...(isChange && { acquireTime: now }),
        renewTime: now,
        holderIdentity: holder,
        leaseDurationSeconds: LEASE_TTL / 1_000,
        leaseTransitions: Number(spec.leaseTransitions ?? 0) + (isChange ? 1 : 0),
      },
    };
  }

  /** Sends the resourceVersion that was read, so that of two replicas one writes. */
  async function write(lease: StoredObject, holder: string, signal: AbortSignal): Promise<boolean> {
    const written = { ...leaseFor(holder, specOf(lease)), metadata: lease.metadata };
    return typeof (await objects.update(LEASES, place, written, signal)) === 'object';
  }

  function inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return withDeadline(
      clock,
      TIMEOUT,
      () => new Error(`the API server is slow to answer for the Lease ${name}`),
      work,
    );
  }

  return {
    hold: () =>
      inTime(async (signal) => {
        const lease = await objects.get(LEASES, place, name, signal);
        if (lease === undefined)
          return (await objects.create(LEASES, place, leaseFor(own), signal)) !== 'exists';
        return mayTake(specOf(lease)) && (await write(lease, own, signal));
      }),
    release: () =>
      inTime(async (signal) => {
        const lease = await objects.get(LEASES, place, name, signal);
        if (lease !== undefined && specOf(lease).holderIdentity === own) await write(lease, '', signal);
      }),
  };
}

function specOf({ spec }: StoredObject): JSONObject {
  return isJSONObject(spec) ? spec : {};
}
