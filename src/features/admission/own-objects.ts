/**
 * What belongs to the system or to Stonegate, so that a tenant may not make, change or remove it: kinds and
 * namespaces of the system, the binding of pods to nodes, Stonegate's roles, bindings and quotas, its copies
 * of published objects, and the labels and annotations by which it recognizes its objects.
 */
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import { MANAGED_BY, STONEGATE } from '../../kubernetes/managed-labels.ts';
import { OWN_RBAC_NAME, SERVICE_ACCOUNT_PREFIX } from '../../kubernetes/reserved-names.ts';
import { isEqual } from '../../lib/json-equal.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import { TENANT_CLUSTER_ROLES } from '../../rbac/cluster-roles.ts';
import type { TenantAdmission } from '../../tenancy/admission-tenants.ts';
import type { TenancyFacts } from '../../tenancy/facts.ts';
import { type ObjectReader, readerOf } from './object-reader.ts';
import { keyPath, type Violation, violation } from './violation.ts';

type Reviewed = ReturnType<TenantAdmission['reviewedTenant']>;

const TENANTS = '/tenants';
/** Kinds that belong to no tenant, as `group/resource`: the user decides about them. */
const OF_NO_TENANT: ReadonlySet<string> = new Set(['/nodes', TENANTS]);
/** Kinds that no tenant may have, no matter which user sends the request. */
const IN_NO_TENANT: readonly string[] = ['apps/daemonsets', 'extensions/daemonsets'];

/** @param configured further kinds of the system, as kubectl names them: `ingresses.networking.k8s.io` */
export function createSystemKinds(
  configured: readonly string[],
  facts: Pick<TenancyFacts, 'hasTenantsInPaths'>,
): (request: AdmissionRequest, reviewed: Reviewed) => Violation[] {
  const inNoTenant = new Set([
    ...IN_NO_TENANT,
    ...configured.map((name) => {
      const [resource = '', ...group] = name.split('.');
      return `${group.join('.')}/${resource}`;
    }),
  ]);
  return ({ group, resource, subresource, operation }, { isTenants, byTenant }) => {
    const key = `${group}/${resource}`;
    // The labels of a Tenant, which decide what the tenant receives, change through subresources too.
    if (operation === 'CONNECT' || (subresource !== '' && key !== TENANTS)) return [];
    const isRefused =
      (OF_NO_TENANT.has(key) && byTenant) ||
      // Controllers finish what is there: they set a finalizer or an owner, and delete.
      (inNoTenant.has(key) && (operation === 'CREATE' ? isTenants : operation === 'UPDATE' && byTenant));
    if (!isRefused) return [];
    const name = group === '' ? resource : `${resource}.${group}`;
    // Objects in tenants are judged by their tenant, no matter which user sends the request.
    const isByUser = !facts.hasTenantsInPaths || OF_NO_TENANT.has(key);
    const remedy = isByUser ? '; its operator can name its users in admission.systemUsers' : '';
    return [violation('systemKinds', 'kind', name, `${name} are only for the system${remedy}`)];
  };
}

const RBAC = 'rbac.authorization.k8s.io';
const NAMESPACES = '/namespaces';
/** Stonegate's own kinds, as `group/resource`. */
const OWN_KINDS: ReadonlySet<string> = new Set([
  NAMESPACES,
  '/resourcequotas',
  ...['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'].map((kind) => `${RBAC}/${kind}`),
]);
const OWN_KEY = 'stonegate.dev/';
const MANAGED = 'the object is managed by Stonegate';
/** Fields that the API server sets, or that do not change the meaning. */
const NEUTRAL_METADATA: ReadonlySet<string> = new Set([
  ...['creationTimestamp', 'deletionGracePeriodSeconds', 'deletionTimestamp', 'generation', 'hashKey'],
  ...['managedFields', 'resourceVersion', 'selfLink', 'uid'],
]);

/**
 * @param request of a tenant's user
 * @param isSystemNamespace whether a namespace of that name is the cluster's
 * @param publishedKinds further kinds of which Stonegate makes objects in tenants, as `group/resource`
 */
export function ownObjectViolations(
  request: AdmissionRequest,
  isSystemNamespace: (name: string) => boolean,
  publishedKinds: ReadonlySet<string>,
): Violation[] {
  const { group, resource, subresource, operation, object, oldObject } = request;
  const kind = `${group}/${resource}`;
  if (operation === 'CONNECT') return [];
  if (operation === 'CREATE' && (kind === '/bindings' || `${kind}/${subresource}` === '/pods/binding')) {
    const { path, fields } = readerOf(object).object('target');
    return [violation('binding', path, fields, 'tenants may not bind pods to nodes')];
  }
  if (kind === NAMESPACES && isSystemNamespace(nameOf(request))) {
    const why = 'tenants may not create or change a namespace of the system';
    return [violation('systemNamespaces', 'metadata.name', nameOf(request), why)];
  }
  if (!OWN_KINDS.has(kind) && !publishedKinds.has(kind)) return [];
  const [before, after] = [readerOf(oldObject), readerOf(object)];
  if (operation === 'DELETE') {
    if (kind === NAMESPACES) return [];
    if (oldObject === undefined)
      return [
        refusal('metadata.name', undefined, 'a tenant may delete objects of this kind only one by one'),
      ];
    return isOwn(before, group) ? [refusal('metadata.name', undefined, MANAGED)] : [];
  }
  const changes = [...keyChanges('labels', before, after), ...keyChanges('annotations', before, after)];
  if (kind === NAMESPACES || changes.length > 0) return changes;
  if (operation === 'CREATE') return group === RBAC ? reservedNames(after) : [];
  return isOwn(before, group) ? firstChange(before, after, isStatusOfController(request)) : [];
}

/**
 * Whether the request stores a role of Stonegate exactly as `stonegate manifests roles` prints it for a
 * tenant of Arktos.
 */
export function storesPrintedRole({ group, resource, operation, object }: AdmissionRequest): boolean {
  if (`${group}/${resource}` !== `${RBAC}/clusterroles`) return false;
  if (operation !== 'CREATE' && operation !== 'UPDATE') return false;
  const role = readerOf(object);
  const metadata = role.object('metadata');
  const rules = TENANT_CLUSTER_ROLES.get(metadata.text('name') ?? '');
  return (
    rules !== undefined &&
    isEqual(role.value('rules'), rules) &&
    !role.has('aggregationRule') &&
    isEqual(metadata.value('labels'), { [MANAGED_BY]: STONEGATE }) &&
    ![...metadata.textMap('annotations').keys()].some((key) => key.startsWith(OWN_KEY))
  );
}

/** The API server leaves the name out of a request that creates. Before it makes one, its prefix is there. */
function nameOf({ name, object }: AdmissionRequest): string {
  const metadata = readerOf(object).object('metadata');
  return name || metadata.text('name') || metadata.text('generateName') || '';
}

/** Controllers write the status of every object of their kind: how much of a quota is used. */
function isStatusOfController({ subresource, user }: AdmissionRequest): boolean {
  return subresource === 'status' && user.username.startsWith(`${SERVICE_ACCOUNT_PREFIX}kube-system:`);
}

function isOwn(object: ObjectReader, group: string): boolean {
  const metadata = object.object('metadata');
  const keys = ['labels', 'annotations'].flatMap((field) => [...metadata.textMap(field).keys()]);
  const isNamed = group === RBAC && OWN_RBAC_NAME.test(metadata.text('name') ?? '');
  return isNamed || keys.some((key) => key.startsWith(OWN_KEY));
}

function reservedNames(object: ObjectReader): Violation[] {
  const metadata = object.object('metadata');
  return ['name', 'generateName']
    .filter((field) => OWN_RBAC_NAME.test(metadata.text(field) ?? ''))
    .map((field) => refusal(metadata.pathOf(field), undefined, 'the name is reserved for Stonegate'));
}

/** Keys that were added, changed or removed. */
function keyChanges(field: 'labels' | 'annotations', before: ObjectReader, after: ObjectReader): Violation[] {
  const [old, now] = [before, after].map((object) => object.object('metadata').textMap(field));
  return [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])]
    .filter((key) => key.startsWith(OWN_KEY) && old?.get(key) !== now?.get(key))
    .map((key) => {
      const why = `tenants may not set or remove ${field} of Stonegate`;
      return refusal(keyPath(`metadata.${field}`, key), now?.get(key), why);
    });
}

/** The first field that differs, apart from what the API server sets. */
function firstChange(before: ObjectReader, after: ObjectReader, mayChangeStatus: boolean): Violation[] {
  const metadata = changedFields(before.object('metadata').fields, after.object('metadata').fields);
  const changed = [
    ...metadata.filter((field) => !NEUTRAL_METADATA.has(field)).map((field) => `metadata.${field}`),
    ...changedFields(before.fields, after.fields).filter(
      (field) => field !== 'metadata' && !(field === 'status' && mayChangeStatus),
    ),
  ];
  return changed.slice(0, 1).map((path) => refusal(path, undefined, MANAGED));
}

function changedFields(before: JSONObject, after: JSONObject): string[] {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...fields].filter((field) => !isEqual(before[field] ?? undefined, after[field] ?? undefined));
}

function refusal(path: string, value: unknown, why: string): Violation {
  return violation('ownObjects', path, value, why);
}
