/**
 * Whose an object is that an API server asks the admission webhook about, in each tenancy mode. Arktos sends
 * the tenant in the object; the user decides if the object has none, or none that Arktos has checked. In
 * shared mode only users and service accounts belong to tenants.
 */
import type { AdmissionOperation, AdmissionRequest } from '../kubernetes/admission-v1.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import { SERVICE_ACCOUNT_PREFIX, TENANT_GROUP_PREFIX } from '../kubernetes/reserved-names.ts';
import { fieldAt } from '../lib/json-object.ts';
import { CLUSTER_SCOPED } from './arktos-route.ts';
import type { TenancyFacts } from './facts.ts';
import { isTenantName } from './tenant-name.ts';

/** Users and namespaces of the cluster besides those that are known by their names. */
export interface SystemAccounts {
  /** Exact names of users, service accounts included. */
  readonly users: readonly string[];
  readonly namespaces: readonly string[];
}

interface Reviewed {
  readonly isTenants: boolean;
  readonly byTenant: boolean;
  readonly tenant: string | undefined;
}

export interface TenantAdmission {
  reviewedTenant(request: AdmissionRequest): Reviewed;
  isSystemNamespace(name: string): boolean;
  /**
   * The tenant that a review of the user's rights names.
   *
   * @returns undefined if the review could be about another user of the same name
   */
  reviewPlace(request: AdmissionRequest): { readonly tenant: TenantName | undefined } | undefined;
}

/** Decides to which tenant an object under admission belongs: by itself, or by its user. */
export function createTenantAdmission(
  { facts, systemTenant }: { readonly facts: TenancyFacts; readonly systemTenant: string },
  system: SystemAccounts,
): TenantAdmission {
  return facts.hasTenantsInPaths ? arktosAdmission(systemTenant, system) : sharedAdmission(system);
}

/** Matches namespaces of the cluster itself and of Stonegate, in shared mode. */
const SYSTEM_NAMESPACE = /^(?:kube-|stonegate(?:-|$))/;
/** No Keystone user can be in it, and no client may impersonate it. */
const MASTERS = 'system:masters';
const TENANT_CONTROLLER = controller('tenant-controller');
/** Controllers that delete what belongs to a namespace, owner or tenant that is deleted. */
const DELETING_CONTROLLERS: ReadonlySet<string> = new Set([
  controller('namespace-controller'),
  controller('generic-garbage-collector'),
  TENANT_CONTROLLER,
]);
/**
 * Controllers that change taints, labels, the addresses of pods and an annotation, and delete a node with
 * its machine.
 * https://github.com/CentaurusInfra/arktos/blob/master/plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go
 */
const NODE_CONTROLLERS: ReadonlyMap<string, readonly AdmissionOperation[]> = new Map([
  [controller('node-controller'), ['UPDATE', 'DELETE']],
  [controller('node-ipam-controller'), ['UPDATE']],
  [controller('ttl-controller'), ['UPDATE']],
]);

function sharedAdmission({ users, namespaces }: SystemAccounts): TenantAdmission {
  const systemUsers = new Set(users);
  const systemNamespaces = new Set(namespaces);
  const isSystemNamespace = (name: string) => SYSTEM_NAMESPACE.test(name) || systemNamespaces.has(name);
  return {
    isSystemNamespace,
    reviewPlace: () => ({ tenant: undefined }),
    reviewedTenant({ user: { username, groups } }) {
      const group = groups.find((name) => name.startsWith(TENANT_GROUP_PREFIX));
      const namespace = serviceAccountNamespaceOf(username);
      const isTenants = group !== undefined || (namespace !== undefined && !isSystemNamespace(namespace));
      const byTenant = isTenants && !systemUsers.has(username);
      const tenant = byTenant ? group?.slice(TENANT_GROUP_PREFIX.length) : undefined;
      return { isTenants: byTenant, byTenant, tenant };
    },
  };
}

/**
 * A service account's name has no tenant here, and every tenant has a `kube-system`: so a service account
 * counts as a tenant's, except where one of its name does what a controller must do.
 */
function arktosAdmission(systemTenant: string, { users }: SystemAccounts): TenantAdmission {
  const systemUsers = new Set(users);

  function isTenantsUser(request: AdmissionRequest): boolean {
    const { username, groups } = request.user;
    if (systemUsers.has(username) || groups.includes(MASTERS)) return false;
    if (serviceAccountNamespaceOf(username) !== undefined) return !isOfController(request);
    return !username.startsWith(`${systemTenant}:`) && !isClusters(username);
  }

  function reviewedTenant(request: AdmissionRequest): Reviewed {
    const { object, oldObject, user } = request;
    // A field that the API server does not check there proves nothing.
    const objects = isOfNoTenant(request) ? [] : [object, oldObject];
    const tenants = objects.map(tenantIn).filter((name) => name !== undefined);
    const tenant = tenants.find((name) => name !== systemTenant);
    const byTenant = isTenantsUser(request);
    if (tenant !== undefined) return { isTenants: true, byTenant, tenant };
    const ofUser = byTenant ? prefixOf(user.username) : undefined;
    const isSystems = tenants.length > 0 && hasCheckedTenant(request) && ofUser === undefined;
    if (isSystems) return { isTenants: false, byTenant: false, tenant: systemTenant };
    return { isTenants: byTenant, byTenant, tenant: ofUser };
  }

  return {
    isSystemNamespace: () => false,
    reviewedTenant,
    reviewPlace(request) {
      const { isTenants, tenant } = reviewedTenant(request);
      // No tenant's service account reaches the system tenant; elsewhere it may have the name of a system's.
      if (isTenants && serviceAccountNamespaceOf(request.user.username) !== undefined) return undefined;
      const place = isTenants ? tenant : systemTenant;
      return place !== undefined && isTenantName(place) ? { tenant: place } : undefined;
    },
  };
}

function controller(name: string): string {
  return `${SERVICE_ACCOUNT_PREFIX}kube-system:${name}`;
}

/** Whether a controller of that name needs it. Any tenant can give the name to an account of its own. */
function isOfController({ group, resource, operation, user, oldObject }: AdmissionRequest): boolean {
  const { username } = user;
  switch (`${group}/${resource}`) {
    case '/nodes':
      return NODE_CONTROLLERS.get(username)?.includes(operation) === true;
    case '/tenants':
      // Once someone else has deleted the tenant, it takes its finalizer off and deletes the object.
      return username === TENANT_CONTROLLER && metadataField(oldObject, 'deletionTimestamp') !== undefined;
    default:
      return operation === 'DELETE' && DELETING_CONTROLLERS.has(username);
  }
}

function isOfNoTenant({ group, resource }: AdmissionRequest): boolean {
  return CLUSTER_SCOPED.has(`${group}/${resource}`);
}

/**
 * A stored object has the tenant under which it is stored. Of a new one Arktos compares the field only in
 * `rest.BeforeCreate`, which the storages of subresources and of bindings do not call.
 */
function hasCheckedTenant({ operation, group, resource, subresource, oldObject }: AdmissionRequest): boolean {
  if (tenantIn(oldObject) !== undefined) return true;
  return operation === 'CREATE' && subresource === '' && !(group === '' && resource === 'bindings');
}

/** Components of the cluster, whatever the system tenant is called. */
function isClusters(username: string): boolean {
  return username.startsWith('system:');
}

/** @returns undefined if the user is no service account */
function serviceAccountNamespaceOf(username: string): string | undefined {
  if (!username.startsWith(SERVICE_ACCOUNT_PREFIX)) return undefined;
  return username.slice(SERVICE_ACCOUNT_PREFIX.length).split(':', 1)[0];
}

function tenantIn(object: unknown): string | undefined {
  return metadataField(object, 'tenant');
}

/** @returns undefined if it is empty, too */
function metadataField(object: unknown, field: string): string | undefined {
  const value = fieldAt(object, 'metadata', field);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function prefixOf(username: string): string | undefined {
  const colon = username.indexOf(':');
  return colon > 0 && !isClusters(username) ? username.slice(0, colon) : undefined;
}
