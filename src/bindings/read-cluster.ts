/**
 * Everything that is there and may matter: what Stonegate made, found by its marks, and what stands in its way. All of
 * it or nothing, a few tenants at a time. The system tenant is left out: its bindings count in every other.
 */
import { mapWithConcurrency } from '../lib/concurrency.ts';
import type { ClusterObjects, Place } from './cluster-objects.ts';
import type { ClusterState, PlaceState } from './cluster-state.ts';

const AT_ONCE = 4;
const ALL = '';

export interface ReadClusterOptions {
  readonly objects: ClusterObjects;
  /** Whether the API server knows tenants. */
  readonly tenants: boolean;
  /** The tenant that nothing is ever made in. */
  readonly systemTenant: string;
  /** To be looked into even where there is no Tenant yet: Arktos keeps objects of tenants that do not exist. */
  readonly wanted: readonly string[];
  readonly signal: AbortSignal;
}

/** @throws StatusError as `ClusterObjects.list` does */
export async function readCluster(options: ReadClusterOptions): Promise<ClusterState> {
  const { objects, systemTenant, signal } = options;
  if (!options.tenants) return { tenants: [], places: [await readPlace(objects, {}, signal)] };
  const listed = await objects.list('Tenant', {}, ALL, signal);
  const tenants = listed.filter(({ metadata }) => metadata.name !== systemTenant);
  const names = new Set([...tenants.map(({ metadata }) => metadata.name), ...options.wanted]);
  const places = await mapWithConcurrency([...names], AT_ONCE, (tenant) =>
    readPlace(objects, { tenant }, signal),
  );
  return { tenants, places };
}

async function readPlace(
  objects: ClusterObjects,
  place: Pick<Place, 'tenant'>,
  signal: AbortSignal,
): Promise<PlaceState> {
  const [namespaces, clusterRoles, roleBindings, clusterRoleBindings] = await Promise.all([
    objects.list('Namespace', place, ALL, signal),
    objects.list('ClusterRole', place, ALL, signal),
    objects.list('RoleBinding', place, ALL, signal),
    // Where there are no tenants nobody is ever bound in the whole cluster.
    place.tenant === undefined ? [] : objects.list('ClusterRoleBinding', place, ALL, signal),
  ]);
  return { ...place, namespaces, clusterRoles, bindings: [...roleBindings, ...clusterRoleBindings] };
}
