/**
 * Reads what a plan is computed from: Keystone's projects, domains and role holders, and the objects in the
 * cluster. Both are read completely or not at all, since a plan from an incomplete list would remove rights
 * that users have.
 */

import type { BindingsConfiguration } from '../../config/configuration.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { KeystoneDirectory } from '../../identity/keystone/directory.ts';
import { KINDS, type Place, type StoredObject } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import { CLUSTER_ROLES } from '../../rbac/cluster-roles.ts';
import type { DesiredState, KeystoneState } from './desired-state.ts';
import type { Holders } from './grants.ts';
import { ownerSelector } from './managed-object.ts';
import { type StoredBinding, storedBinding } from './stored-binding.ts';

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
const asRead = (object: StoredObject) => object;

export interface ReadClusterOptions {
  readonly objects: Objects;
  /** Whether the API server knows tenants. */
  readonly tenants: boolean;
  /** Left out: bindings in the system tenant are effective in every tenant. */
  readonly systemTenant: string;
  /** Tenants to read even if no Tenant object exists: Arktos stores objects of tenants that do not exist. */
  readonly wanted: readonly string[];
  readonly signal: AbortSignal;
}

/** @throws StatusError as `Objects.list` does */
export async function readCluster(options: ReadClusterOptions): Promise<ClusterState> {
  const { objects, systemTenant, signal } = options;
  if (!options.tenants) return { tenants: [], places: [await readTenant(objects, {}, signal)] };
  const listed = await objects.list(KINDS.Tenant, {}, ALL, signal, asRead);
  const tenants = listed.filter(({ metadata }) => metadata.name !== systemTenant);
  const names = new Set([...tenants.map(({ metadata }) => metadata.name), ...options.wanted]);
  const places = await mapWithConcurrency([...names], CONCURRENCY, (tenant) =>
    readTenant(objects, { tenant }, signal),
  );
  return { tenants, places };
}

async function readTenant(
  objects: Objects,
  place: Pick<Place, 'tenant'>,
  signal: AbortSignal,
): Promise<PlaceState> {
  const [namespaces, clusterRoles, roleBindings, clusterRoleBindings] = await Promise.all([
    objects.list(KINDS.Namespace, place, ALL, signal, asRead),
    objects.list(KINDS.ClusterRole, place, ALL, signal, asRead),
    objects.list(KINDS.RoleBinding, place, ALL, signal, storedBinding),
    // Without tenants no ClusterRoleBinding is ever provisioned.
    place.tenant === undefined
      ? []
      : objects.list(KINDS.ClusterRoleBinding, place, ALL, signal, storedBinding),
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
  readonly objects: Objects;
  readonly signal: AbortSignal;
}

/** @throws StatusError as `Objects.list` does */
export async function readPart(desired: DesiredState, options: PartOptions): Promise<ClusterState> {
  if (!options.tenants) return { tenants: [], places: [await readPartOfTenant(desired, {}, options)] };
  const [desiredTenant] = desired.tenants;
  // A domain without a tenant, or an ignored one.
  if (desiredTenant === undefined) return { tenants: [], places: [] };
  const { tenant } = desiredTenant;
  const [found, place] = await Promise.all([
    options.objects.get(KINDS.Tenant, {}, tenant, options.signal),
    readPartOfTenant(desired, { tenant }, options),
  ]);
  return { tenants: found === undefined ? [] : [found], places: [place] };
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
): Promise<{ readonly namespaces: readonly StoredObject[]; readonly bindings: readonly StoredBinding[] }> {
  if (project === undefined || desiredProject === undefined) return { namespaces: [], bindings: [] };
  const selector = ownerSelector({ projectID: project.id });
  const own = await objects.list(KINDS.Namespace, place, selector, signal, asRead);
  const bindings = await Promise.all(
    own.map(({ metadata }) =>
      objects.list(
        KINDS.RoleBinding,
        { ...place, namespace: metadata.name },
        selector,
        signal,
        storedBinding,
      ),
    ),
  );
  const name = 'namespace' in desiredProject.wanted ? desiredProject.wanted.namespace : undefined;
  const isKnown = name === undefined || own.some(({ metadata }) => metadata.name === name);
  const other = isKnown ? undefined : await objects.get(KINDS.Namespace, place, name, signal);
  return {
    namespaces: other === undefined ? own : [...own, other],
    bindings: bindings.flat(),
  };
}

async function readRoles(place: Pick<Place, 'tenant'>, { createRoles, objects, signal }: PartOptions) {
  const names = createRoles ? [...CLUSTER_ROLES.keys()] : [];
  const found = await Promise.all(names.map((name) => objects.get(KINDS.ClusterRole, place, name, signal)));
  return found.filter((object) => object !== undefined);
}

async function readDomainBindings(
  place: Pick<Place, 'tenant'>,
  { domain, objects, signal }: PartOptions,
): Promise<readonly StoredBinding[]> {
  if (place.tenant === undefined) return [];
  const selector = ownerSelector({ domainID: domain.id });
  return objects.list(KINDS.ClusterRoleBinding, place, selector, signal, storedBinding);
}

/**
 * Existing objects of one tenant in Arktos, or of a whole cluster without tenants. Objects that Stonegate
 * did not create are included: their names are taken.
 */
export interface PlaceState {
  /** Absent if the API server has no tenants. */
  readonly tenant?: string;
  readonly namespaces: readonly StoredObject[];
  readonly clusterRoles: readonly StoredObject[];
  readonly bindings: readonly StoredBinding[];
}

export interface ClusterState {
  /** The tenants without the system tenant; empty if the API server has no tenants. */
  readonly tenants: readonly StoredObject[];
  readonly places: readonly PlaceState[];
}
