/**
 * Reads what a plan is computed from: Keystone's projects, domains and role holders, and the objects in the
 * cluster. Both are read completely or not at all, since a plan from an incomplete list would remove rights
 * that users have.
 */

import { CLUSTER_ROLES } from '../api/cluster-roles.ts';
import type { BindingsConfiguration } from '../api/config-v1alpha1.ts';
import type { Binding, ClusterRole, Namespace, Tenant } from '../api/kubernetes-object.ts';
import { StatusError } from '../errors/status-error.ts';
import { mapWithConcurrency } from '../lib/concurrency.ts';
import type { DesiredState, KeystoneState } from './desired-state.ts';
import type { Holders } from './grants.ts';
import { ownerSelector } from './managed-object.ts';
import type { ClusterObjects, KeystoneDirectory, Place } from './ports.ts';

/** @throws StatusError KeystoneUnavailable */
export async function readKeystone(
  directory: KeystoneDirectory,
  { subjects }: Pick<BindingsConfiguration, 'subjects'>,
): Promise<KeystoneState> {
  const [domains, projects, holders] = await Promise.all([
    directory.domains(),
    directory.projects(),
    subjects === 'groups' ? readGroups(directory) : readUsers(directory),
  ]);
  if (domains.length === 0) throw implausible('domains');
  return { domains, projects, holders };
}

/** @throws StatusError KeystoneUnavailable */
export async function readGroups(directory: KeystoneDirectory): Promise<Holders> {
  const roleNames = await directory.roleNames();
  if (roleNames.length === 0) throw implausible('roles');
  return { kind: 'groups', roleNames };
}

async function readUsers(directory: KeystoneDirectory): Promise<Holders> {
  const [assignments, disabledUserIDs] = await Promise.all([
    directory.roleAssignments(),
    directory.disabledUserIDs(),
  ]);
  if (assignments.length === 0) throw implausible('role assignments');
  return { kind: 'users', assignments, disabledUserIDs };
}

function implausible(what: string): StatusError {
  return new StatusError('KeystoneUnavailable', `Service Unavailable: Keystone lists no ${what}`);
}

const CONCURRENCY = 4;
const ALL = '';

export interface ReadClusterOptions {
  readonly objects: ClusterObjects;
  /** Whether the API server knows tenants. */
  readonly tenants: boolean;
  /** Left out: bindings in the system tenant are effective in every tenant. */
  readonly systemTenant: string;
  /** Tenants to read even if no Tenant object exists: Arktos stores objects of tenants that do not exist. */
  readonly wanted: readonly string[];
  readonly signal: AbortSignal;
}

/** @throws StatusError as `ClusterObjects.list` does */
export async function readCluster(options: ReadClusterOptions): Promise<ClusterState> {
  const { objects, systemTenant, signal } = options;
  if (!options.tenants) return { tenants: [], places: [await readTenant(objects, {}, signal)] };
  const listed = await objects.list('Tenant', {}, ALL, signal);
  const tenants = listed.filter(({ metadata }) => metadata.name !== systemTenant);
  const names = new Set([...tenants.map(({ metadata }) => metadata.name), ...options.wanted]);
  const places = await mapWithConcurrency([...names], CONCURRENCY, (tenant) =>
    readTenant(objects, { tenant }, signal),
  );
  return { tenants, places };
}

async function readTenant(
  objects: ClusterObjects,
  place: Pick<Place, 'tenant'>,
  signal: AbortSignal,
): Promise<PlaceState> {
  const [namespaces, clusterRoles, roleBindings, clusterRoleBindings] = await Promise.all([
    objects.list('Namespace', place, ALL, signal),
    objects.list('ClusterRole', place, ALL, signal),
    objects.list('RoleBinding', place, ALL, signal),
    // Without tenants no ClusterRoleBinding is ever provisioned.
    place.tenant === undefined ? [] : objects.list('ClusterRoleBinding', place, ALL, signal),
  ]);
  return { ...place, namespaces, clusterRoles, bindings: [...roleBindings, ...clusterRoleBindings] };
}

export interface PartOptions {
  readonly domain: { readonly id: string };
  readonly project?: { readonly id: string };
  /** Whether the API server knows tenants. */
  readonly tenants: boolean;
  /** Whether ClusterRoles are provisioned too. */
  readonly createRoles: boolean;
  readonly objects: ClusterObjects;
  readonly signal: AbortSignal;
}

/** @throws StatusError as `ClusterObjects.list` does */
export async function readPart(desired: DesiredState, options: PartOptions): Promise<ClusterState> {
  if (!options.tenants) return { tenants: [], places: [await readPartOfTenant(desired, {}, options)] };
  const [desiredTenant] = desired.tenants;
  // A domain without a tenant, or an ignored one.
  if (desiredTenant === undefined) return { tenants: [], places: [] };
  const { tenant } = desiredTenant;
  const [found, place] = await Promise.all([
    options.objects.get({ kind: 'Tenant', name: tenant }, options.signal),
    readPartOfTenant(desired, { tenant }, options),
  ]);
  return { tenants: found?.kind === 'Tenant' ? [found] : [], places: [place] };
}

async function readPartOfTenant(
  desired: DesiredState,
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

/** The namespaces of the project, and the namespace that it would get, even if another project owns it. */
async function readNamespaces(
  { projects: [desiredProject] }: DesiredState,
  place: Pick<Place, 'tenant'>,
  { project, objects, signal }: PartOptions,
): Promise<{ readonly namespaces: readonly Namespace[]; readonly bindings: readonly Binding[] }> {
  if (project === undefined || desiredProject === undefined) return { namespaces: [], bindings: [] };
  const selector = ownerSelector({ projectID: project.id });
  const own = await objects.list('Namespace', place, selector, signal);
  const bindings = await Promise.all(
    own.map(({ metadata }) =>
      objects.list('RoleBinding', { ...place, namespace: metadata.name }, selector, signal),
    ),
  );
  const name = 'namespace' in desiredProject.wanted ? desiredProject.wanted.namespace : undefined;
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

/**
 * Existing objects of one tenant in Arktos, or of a whole cluster without tenants. Objects that Stonegate
 * did not create are included: their names are taken.
 */
export interface PlaceState {
  /** Absent if the API server has no tenants. */
  readonly tenant?: string;
  readonly namespaces: readonly Namespace[];
  readonly clusterRoles: readonly ClusterRole[];
  readonly bindings: readonly Binding[];
}

export interface ClusterState {
  /** Without the system tenant; empty if the API server has no tenants. */
  readonly tenants: readonly Tenant[];
  readonly places: readonly PlaceState[];
}
