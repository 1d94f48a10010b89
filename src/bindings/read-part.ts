/**
 * What is there of one project or one domain, and what stands in its way: the few objects that a plan for it alone has to
 * know. Everything else is not even asked for, so that such a plan can take nothing away from anybody else.
 */
import { CLUSTER_ROLES } from '../api/cluster-roles.ts';
import type { Binding, Namespace } from '../api/kubernetes-object.ts';
import type { ClusterObjects, Place } from './cluster-objects.ts';
import type { ClusterState, PlaceState } from './cluster-state.ts';
import type { Desired } from './desired.ts';
import { ownerSelector } from './managed-object.ts';

export interface PartOptions {
  readonly domain: { readonly id: string };
  readonly project?: { readonly id: string };
  /** Whether the API server knows tenants. */
  readonly tenants: boolean;
  /** Whether the roles themselves matter. */
  readonly createRoles: boolean;
  readonly objects: ClusterObjects;
  readonly signal: AbortSignal;
}

/** @throws StatusError as `ClusterObjects.list` does */
export async function readPart(desired: Desired, options: PartOptions): Promise<ClusterState> {
  if (!options.tenants) return { tenants: [], places: [await readPlace(desired, {}, options)] };
  const [wish] = desired.tenants;
  // A domain without a tenant, or one that is left alone.
  if (wish === undefined) return { tenants: [], places: [] };
  const { tenant } = wish;
  const [found, place] = await Promise.all([
    options.objects.get({ kind: 'Tenant', name: tenant }, options.signal),
    readPlace(desired, { tenant }, options),
  ]);
  return { tenants: found?.kind === 'Tenant' ? [found] : [], places: [place] };
}

async function readPlace(
  desired: Desired,
  place: Pick<Place, 'tenant'>,
  options: PartOptions,
): Promise<PlaceState> {
  const [{ namespaces, bindings }, clusterRoles, ofDomain] = await Promise.all([
    readNamespaces(desired, place, options),
    readRoles(place, options),
    readDomainBindings(place, options),
  ]);
  return { ...place, namespaces, clusterRoles, bindings: [...bindings, ...ofDomain] };
}

/** Those of the project, and the one that it would be given, whosever that is. */
async function readNamespaces(
  { projects: [wish] }: Desired,
  place: Pick<Place, 'tenant'>,
  { project, objects, signal }: PartOptions,
): Promise<{ readonly namespaces: readonly Namespace[]; readonly bindings: readonly Binding[] }> {
  if (project === undefined || wish === undefined) return { namespaces: [], bindings: [] };
  const selector = ownerSelector({ projectID: project.id });
  const own = await objects.list('Namespace', place, selector, signal);
  const bindings = await Promise.all(
    own.map(({ metadata }) =>
      objects.list('RoleBinding', { ...place, namespace: metadata.name }, selector, signal),
    ),
  );
  const name = 'namespace' in wish.wanted ? wish.wanted.namespace : undefined;
  const isKnown = name === undefined || own.some(({ metadata }) => metadata.name === name);
  const other = isKnown ? undefined : await objects.get({ kind: 'Namespace', ...place, name }, signal);
  return {
    namespaces: other?.kind === 'Namespace' ? [...own, other] : own,
    bindings: bindings.flat(),
  };
}

async function readRoles(place: Pick<Place, 'tenant'>, { createRoles, objects, signal }: PartOptions) {
  const names = createRoles ? [...CLUSTER_ROLES.keys()] : [];
  const found = await Promise.all(
    names.map((name) => objects.get({ kind: 'ClusterRole', ...place, name }, signal)),
  );
  return found.flatMap((object) => (object?.kind === 'ClusterRole' ? [object] : []));
}

async function readDomainBindings(
  place: Pick<Place, 'tenant'>,
  { domain, objects, signal }: PartOptions,
): Promise<readonly Binding[]> {
  if (place.tenant === undefined) return [];
  return objects.list('ClusterRoleBinding', place, ownerSelector({ domainID: domain.id }), signal);
}
