/**
 * The lease by which replicas agree on the one that runs a controller: a Lease of the API server, which every
 * cluster has. A replica takes it over if the holder has not renewed it for its duration by the replica's own
 * clock: clocks need not agree.
 * https://kubernetes.io/docs/concepts/architecture/leases/
 */

import { type Clock, withDeadline } from '../../lib/clock.ts';
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import type { Random } from '../../lib/random.ts';
import type { ResourceKind } from '../kubernetes-object.ts';
import type { Objects, Place, StoredObject, WrittenObject } from './objects.ts';

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
export const LEASE_TTL = 30_000;
/** Milliseconds between renewals by the holder. A failed one ends the run. */
export const LEASE_RENEWAL = 10_000;
/** Milliseconds between attempts of the other replicas. */
export const LEASE_STANDBY = 2_000;

export interface LeaseOptions {
  /** Sends requests with a credential that may get, create and update the Lease. */
  readonly objects: Objects;
  readonly place: Place;
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
}

export function createLease(options: LeaseOptions): Lease {
  return new KubernetesLease(options);
}

const LEASES: ResourceKind = {
  group: 'coordination.k8s.io',
  version: 'v1',
  resource: 'leases',
  namespaced: true,
};
/** Milliseconds in which the lease must be read and written. */
const TIMEOUT = 5_000;

class KubernetesLease implements Lease {
  readonly #options: LeaseOptions;
  readonly #owner: string;
  /** The holder's last sign of life, and when it was first seen here. */
  #seen: { readonly sign: string; readonly at: number } | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#owner = options.random.uuid();
  }

  hold(): Promise<boolean> {
    return this.#withTimeout(async (signal) => {
      const { objects, place, name } = this.#options;
      const lease = await objects.get(LEASES, place, name, signal);
      if (lease === undefined)
        return (await objects.create(LEASES, place, this.#leaseFor(this.#owner), signal)) === 'created';
      return this.#mayWrite(specOf(lease)) && (await this.#write(lease, this.#owner, signal));
    });
  }

  release(): Promise<void> {
    return this.#withTimeout(async (signal) => {
      const { objects, place, name } = this.#options;
      const lease = await objects.get(LEASES, place, name, signal);
      if (lease !== undefined && specOf(lease).holderIdentity === this.#owner)
        await this.#write(lease, '', signal);
    });
  }

  /** Whether it is this replica's, no one's, or its holder's time is over. */
  #mayWrite({ holderIdentity, renewTime, leaseTransitions }: JSONObject): boolean {
    const { clock } = this.#options;
    if ((holderIdentity ?? '') === '' || holderIdentity === this.#owner) return true;
    const sign = JSON.stringify([holderIdentity, renewTime, leaseTransitions]);
    if (this.#seen?.sign !== sign) this.#seen = { sign, at: clock.now() };
    return clock.now() - this.#seen.at >= LEASE_TTL;
  }

  /** Sends the resourceVersion that was read, so that of two replicas one writes. */
  async #write(lease: StoredObject, holder: string, signal: AbortSignal): Promise<boolean> {
    const { objects, place } = this.#options;
    const { metadata } = lease;
    const written = { ...this.#leaseFor(holder, specOf(lease)), metadata };
    return (await objects.update(LEASES, place, written, signal)) === 'updated';
  }

  #leaseFor(holder: string, spec: JSONObject = {}): WrittenObject & { readonly spec: object } {
    const { clock, name, place } = this.#options;
    const now = new Date(clock.now()).toISOString().replace('Z', '000Z');
    const isChange = spec.holderIdentity !== holder;
    const { leaseTransitions: transitions = 0 } = spec;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, ...(place.namespace !== undefined && { namespace: place.namespace }) },
      spec: {
        ...spec,
        ...(isChange && { acquireTime: now }),
        renewTime: now,
        holderIdentity: holder,
        leaseDurationSeconds: LEASE_TTL / 1_000,
        leaseTransitions: (typeof transitions === 'number' ? transitions : 0) + (isChange ? 1 : 0),
      },
    };
  }

  #withTimeout<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, name } = this.#options;
    const late = new Error(`the API server is slow to answer for the Lease ${name}`);
    return withDeadline(clock, TIMEOUT, late, work);
  }
}

function specOf({ spec }: StoredObject): JSONObject {
  return isJSONObject(spec) ? spec : {};
}
