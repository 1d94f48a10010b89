/**
 * Reads what a plan is computed from: Keystone's projects, domains and role holders, and the objects in the
 * cluster. Both are read completely or not at all, since a plan from an incomplete list would remove rights
 * that users have.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { KeystoneDirectory } from '../../identity/keystone/keystone-directory.ts';
import { KINDS, type Place, placeOf, type StoredObject } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import { CLUSTER_ROLES } from '../../rbac/cluster-roles.ts';
import type { BindingsConfiguration } from './bindings-configuration.ts';
import type { DesiredState, KeystoneState } from './desired-state.ts';
import type { Holders } from './grants.ts';
import { ownerSelector, type StoredBinding, storedBinding } from './managed-object.ts';
import { PROJECT_QUOTA } from './project-quota.ts';

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

interface ReadOptions {
  readonly objects: Objects;
  readonly hasTenantsInPaths: boolean;
  /** Whether the quotas of projects are provisioned. */
  readonly hasQuotas: boolean;
  readonly signal: AbortSignal;
}

export interface ReadClusterOptions extends ReadOptions {
  /** Left out: bindings in the system tenant are effective in every tenant. */
  readonly systemTenant: string;
  /** Tenants to read even if no Tenant object exists: Arktos stores objects of tenants that do not exist. */
  readonly wanted: readonly string[];
}

/** @throws StatusError as `Objects.list` does */
export async function readCluster(options: ReadClusterOptions): Promise<ClusterState> {
  const { objects, hasTenantsInPaths, systemTenant, wanted, signal } = options;
  const listed = hasTenantsInPaths ? await objects.list(KINDS.Tenant, {}, ALL, signal, asRead) : [];
  const tenants = listed.filter(({ metadata }) => metadata.name !== systemTenant);
  const names = new Set([...tenants.map(({ metadata }) => metadata.name), ...wanted]);
  const places = hasTenantsInPaths ? [...names].map((tenant) => ({ tenant })) : [{}];
  return {
    tenants,
    places: await mapWithConcurrency(places, CONCURRENCY, (place) => readPlace(place, options)),
  };
}

async function readPlace(
  place: Pick<Place, 'tenant'>,
  { objects, hasTenantsInPaths, hasQuotas, signal }: ReadOptions,
): Promise<PlaceState> {
  const [namespaces, clusterRoles, quotas, roleBindings, clusterRoleBindings] = await Promise.all([
    objects.list(KINDS.Namespace, place, ALL, signal, asRead),
    objects.list(KINDS.ClusterRole, place, ALL, signal, asRead),
    hasQuotas ? objects.list(KINDS.ResourceQuota, place, ownerSelector({}), signal, asRead) : [],
    objects.list(KINDS.RoleBinding, place, ALL, signal, storedBinding),
    // Without tenants no ClusterRoleBinding is ever provisioned.
    hasTenantsInPaths ? objects.list(KINDS.ClusterRoleBinding, place, ALL, signal, storedBinding) : [],
  ]);
  return { ...place, namespaces, clusterRoles, quotas, roleBindings, clusterRoleBindings };
}

export interface ReadPartOptions extends ReadOptions {
  /** Whether ClusterRoles are provisioned too. */
  readonly createRoles: boolean;
}

/** Reads what concerns one domain, and one of its projects. @throws StatusError as `Objects.list` does */
export async function readPart(
  { tenants: [desiredTenant], projects: [desiredProject] }: DesiredState,
  { objects, hasTenantsInPaths, hasQuotas, createRoles, signal }: ReadPartOptions,
): Promise<ClusterState> {
  // A domain without a tenant, or an ignored one.
  if (hasTenantsInPaths && desiredTenant === undefined) return { tenants: [], places: [] };
  const place = placeOf({ tenant: desiredTenant?.tenant });

  /** The namespaces of the project, and the one that it would get, even if another project owns it. */
  async function readNamespaces() {
    if (desiredProject === undefined) return { namespaces: [], quotas: [], bindings: [] };
    const { project, wanted } = desiredProject;
    const selector = ownerSelector({ projectID: project.id });
    const own = await objects.list(KINDS.Namespace, place, selector, signal, asRead);
    const places = own.map(({ metadata: { name: namespace } }) => ({ ...place, namespace }));
    const [bindings, quotas] = await Promise.all([
      Promise.all(
        places.map((each) => objects.list(KINDS.RoleBinding, each, selector, signal, storedBinding)),
      ),
      Promise.all(
        (hasQuotas ? places : []).map((each) =>
          objects.get(KINDS.ResourceQuota, each, PROJECT_QUOTA, signal),
        ),
      ),
    ]);
    const isKnown = 'refused' in wanted || own.some(({ metadata }) => metadata.name === wanted.namespace);
    const other = isKnown ? undefined : await objects.get(KINDS.Namespace, place, wanted.namespace, signal);
    return {
      namespaces: other === undefined ? own : [...own, other],
      quotas: quotas.filter((quota) => quota !== undefined),
      bindings: bindings.flat(),
    };
  }

  const roles = createRoles ? [...CLUSTER_ROLES.keys()] : [];
  const ofDomain = desiredTenant && ownerSelector({ domainID: desiredTenant.domain.id });
  const [tenant, { namespaces, quotas, bindings }, clusterRoles, clusterRoleBindings] = await Promise.all([
    place.tenant === undefined ? undefined : objects.get(KINDS.Tenant, {}, place.tenant, signal),
    readNamespaces(),
    Promise.all(roles.map((name) => objects.get(KINDS.ClusterRole, place, name, signal))),
    ofDomain === undefined
      ? []
      : objects.list(KINDS.ClusterRoleBinding, place, ofDomain, signal, storedBinding),
  ]);
  return {
    tenants: tenant === undefined ? [] : [tenant],
    places: [
      {
        ...place,
        namespaces,
        clusterRoles: clusterRoles.filter((object) => object !== undefined),
        quotas,
        roleBindings: bindings,
        clusterRoleBindings,
      },
    ],
  };
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
  /** The ResourceQuotas with Stonegate's label; the list is empty if none are provisioned. */
  readonly quotas: readonly StoredObject[];
  readonly roleBindings: readonly StoredBinding[];
  readonly clusterRoleBindings: readonly StoredBinding[];
}

export interface ClusterState {
  /** The tenants without the system tenant; empty if the API server has no tenants. */
  readonly tenants: readonly StoredObject[];
  readonly places: readonly PlaceState[];
}
