/**
 * By which replicas agree on the one that changes objects of the cluster: Redis, or a Lease of the API server
 * without it.
 */
import { createRedisLease } from '../cache/shared-store.ts';
import { createKubernetesLease } from '../clients/kubernetes-lease.ts';
import { LEASE_TTL, type Lease } from '../lib/lease.ts';
import type { UpstreamFetcher } from '../pipeline/ports.ts';
import type { Build } from './build.ts';
import { createShared } from './cache.ts';

/** It exists in every cluster, and in the system tenant of every Arktos. */
const NAMESPACE = 'kube-system';

export interface ControllerLease {
  readonly lease: Lease;
  /** Components that the lease needs. */
  readonly uses: readonly object[];
}

/**
 * @param name of the work; unique
 * @param fetcher with the provisioning credential
 */
export function createControllerLease(build: Build, name: string, fetcher: UpstreamFetcher): ControllerLease {
  const { loaded, runtime } = build;
  const { cache, tenancy } = loaded.configuration;
  const shared = createShared(build);
  if (shared.leases !== undefined) {
    const redisName = `${cache.redis?.keyPrefix ?? ''}lease:${name}`;
    const options = { ...runtime, store: shared.leases, name: redisName, ttl: LEASE_TTL };
    return { lease: createRedisLease(options), uses: [shared] };
  }
  const place = {
    ...(tenancy.mode === 'arktos' && { tenant: tenancy.systemTenant }),
    namespace: NAMESPACE,
    name: `stonegate-${name}`,
  };
  return {
    lease: createKubernetesLease({ ...runtime, ...place, fetcher, ttl: LEASE_TTL }),
    uses: [fetcher],
  };
}
