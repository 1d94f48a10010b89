/**
 * Everything Keystone says that rights are made of, or nothing: a plan made of half an answer would take from people
 * what they have. A Keystone without domains or roles cannot be: something else has answered.
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

/*
 * Everything that is there and may matter: what Stonegate made, found by its marks, and what stands in its way. All of
 * it or nothing, a few tenants at a time. The system tenant is left out: its bindings count in every other.
 
 */

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
  if (!options.tenants) return { tenants: [], places: [await readTenant(objects, {}, signal)] };
  const listed = await objects.list('Tenant', {}, ALL, signal);
  const tenants = listed.filter(({ metadata }) => metadata.name !== systemTenant);
  const names = new Set([...tenants.map(({ metadata }) => metadata.name), ...options.wanted]);
  const places = await mapWithConcurrency([...names], AT_ONCE, (tenant) =>
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
    // Where there are no tenants nobody is ever bound in the whole cluster.
    place.tenant === undefined ? [] : objects.list('ClusterRoleBinding', place, ALL, signal),
  ]);
  return { ...place, namespaces, clusterRoles, bindings: [...roleBindings, ...clusterRoleBindings] };
}

/*
 * What is there of one project or one domain, and what stands in its way: the few objects that a plan for it alone has to
 * know. Everything else is not even asked for, so that such a plan can take nothing away from anybody else.
 
 */

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
export async function readPart(desired: DesiredState, options: PartOptions): Promise<ClusterState> {
  if (!options.tenants) return { tenants: [], places: [await readPartOfTenant(desired, {}, options)] };
  const [wish] = desired.tenants;
  // A domain without a tenant, or one that is left alone.
  if (wish === undefined) return { tenants: [], places: [] };
  const { tenant } = wish;
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

/** Those of the project, and the one that it would be given, whosever that is. */
async function readNamespaces(
  { projects: [wish] }: DesiredState,
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

/*
 * What is there already, Stonegate's own and everybody else's: a namespace that somebody else has made is not free.
 
 */

/** One tenant of Arktos, or a whole cluster that knows none. */
export interface PlaceState {
  /** Absent where the API server knows none. */
  readonly tenant?: string;
  readonly namespaces: readonly Namespace[];
  readonly clusterRoles: readonly ClusterRole[];
  readonly bindings: readonly Binding[];
}

export interface ClusterState {
  /** Empty where the API server knows none; without the system's. */
  readonly tenants: readonly Tenant[];
  readonly places: readonly PlaceState[];
}
