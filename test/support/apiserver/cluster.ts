/**
 * The cluster behind the stand-in: its objects, the kinds it serves (including those of custom resource
 * definitions), its users and its pods. Every change of an object goes through this module, so that tenants,
 * defaults and custom kinds are updated in one place.
 */
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { rule } from '../policy-rule.ts';
import { fillIn } from './defaults.ts';
import { ensureObject, type JsonObject, objectAt, objectsAt, textAt, textsAt } from './json.ts';
import {
  builtInKinds,
  type Flavour,
  groupsOf,
  type Kind,
  OBJECT_VERBS,
  type PrinterColumn,
} from './kinds.ts';
import { createPods, type Pods } from './pods.ts';
import { createRbac, type Rbac } from './rbac.ts';
import { type Location, newHashKey, ObjectStore } from './store.ts';
import type { TokenUser } from './users.ts';
import { WebhookRate } from './webhook-rate.ts';

const SYSTEM = 'system';
const DEFINITIONS = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' };

export interface Cluster {
  readonly flavour: Flavour;
  /** Whether a pod that is created over HTTP is assigned to a node, so that it runs at once. */
  readonly schedulesPods: boolean;
  /** The version in `/version`; undefined for that of the recordings. */
  readonly gitVersion: string | undefined;
  readonly store: ObjectStore;
  readonly rbac: Rbac;
  readonly pods: Pods;
  readonly tokens: Map<string, TokenUser>;
  /** How often an Arktos calls webhooks. */
  readonly webhookRate: WebhookRate;
  /** The kind of a group, version and resource, as the tenant sees it. */
  kind(group: string, version: string, resource: string, tenant: string): Kind | undefined;
  /** Every kind that a tenant sees. */
  kinds(tenant: string): Kind[];
  /** The kinds that discovery shows: without those of the system tenant's forced definitions. */
  discoveredKinds(tenant: string): Kind[];
  /**
   * The groups that discovery shows a tenant, in the server's order, including those of which only the system
   * tenant has kinds.
   */
  groups(tenant: string): { name: string; versions: readonly string[] }[];
  locate(kind: Kind, tenant: string, namespace: string, name: string): Location;
  /** Stores a new or changed object with its defaults. */
  write(kind: Kind, location: Location, object: JsonObject): JsonObject;
  /** Removes an object and, for a namespace or a tenant, everything in it. */
  remove(location: Location): JsonObject | undefined;
  close(): void;
}

export interface ClusterOptions {
  readonly schedulesPods: boolean;
  readonly gitVersion?: string | undefined;
  /** The clock that limits how often webhooks are called, as in Arktos; the system's by default. */
  readonly clock?: Clock | undefined;
}

export function createCluster(
  flavour: Flavour,
  { schedulesPods, gitVersion, clock = systemClock }: ClusterOptions,
): Cluster {
  const store = new ObjectStore();
  const builtIn = builtInKinds(flavour);
  const tokens = new Map<string, TokenUser>();
  const pods = createPods();
  const definitions = (tenant: string): JsonObject[] =>
    store.list({ ...DEFINITIONS, tenant: flavour === 'arktos' ? tenant : '' }).map(({ object }) => object);
  const ownKinds = (tenant: string): Kind[] =>
    definitions(tenant).map((object) => kindDefinedBy(object, flavour));
  const hasForced = (tenant: string) => flavour === 'arktos' && tenant !== SYSTEM;
  const forcedKinds = (tenant: string): Kind[] =>
    hasForced(tenant)
      ? definitions(SYSTEM)
          .filter(isForced)
          .map((object) => kindDefinedBy(object, flavour))
      : [];
  /** A forced definition replaces the tenant's own of the same name. */
  const kinds = (tenant: string): Kind[] => [...builtIn, ...forcedKinds(tenant), ...ownKinds(tenant)];

  const cluster: Cluster = {
    flavour,
    schedulesPods,
    gitVersion,
    store,
    rbac: createRbac(store, flavour),
    pods,
    tokens,
    webhookRate: new WebhookRate(clock),
    kinds,
    discoveredKinds: (tenant) => [...builtIn, ...ownKinds(tenant)],
    kind: (group, version, resource, tenant) =>
      kinds(tenant).find(
        (one) => one.group === group && one.resource === resource && one.versions.includes(version),
      ),
    groups(tenant) {
      const groups = groupsOf(flavour);
      addGroups(groups, ownKinds(tenant));
      if (!hasForced(tenant)) return groups;
      const ofSystem: typeof groups = [];
      addGroups(ofSystem, ownKinds(SYSTEM));
      // A version that both have is listed twice.
      for (const { name, versions } of ofSystem) {
        const known = groups.find((group) => group.name === name);
        if (known === undefined) groups.push({ name, versions });
        else known.versions = [...known.versions, ...versions];
      }
      return groups;
    },
    locate: (kind, tenant, namespace, name) => ({
      tenant: flavour === 'kubernetes' || kind.scope === 'cluster' || kind.shared ? '' : tenant,
      group: kind.storageGroup,
      resource: kind.resource,
      namespace: kind.scope === 'namespaced' ? namespace : '',
      name,
    }),
    write(kind, location, object) {
      const draft = structuredClone(object);
      const metadata = ensureObject(draft, 'metadata');
      metadata.name = location.name;
      if (location.namespace !== '') metadata.namespace = location.namespace;
      if (flavour === 'arktos') markTenant(store, kind, location, metadata);
      fillIn(kind, draft);
      const isNew = store.get(location) === undefined;
      const stored = store.put(location, draft);
      if (isNew && kind.resource === 'tenants' && kind.group === '') furnishTenant(cluster, location.name);
      return stored;
    },
    remove(location) {
      if (location.group === '' && location.resource === 'namespaces')
        for (const inside of store.list({ tenant: location.tenant, namespace: location.name }))
          cluster.remove(inside.location);
      if (location.group === '' && location.resource === 'tenants')
        for (const inside of store.list({ tenant: location.name })) cluster.remove(inside.location);
      if (location.group === '' && location.resource === 'pods') pods.forget(location);
      if (location.group === DEFINITIONS.group && location.resource === DEFINITIONS.resource)
        removeInstances(store, location, flavour);
      return store.delete(location);
    },
    close: () => pods.close(),
  };
  return cluster;
}

/** Sets Arktos' own members: the tenant, the self link, and a hash key for distributing work. */
function markTenant(store: ObjectStore, kind: Kind, location: Location, metadata: JsonObject) {
  const before = objectAt(store.get(location), 'metadata');
  metadata.hashKey = before.hashKey ?? newHashKey();
  if (location.tenant !== '') metadata.tenant = location.tenant;
  metadata.selfLink = `${collectionPath(kind, kind.versions[0] ?? '', location)}/${location.name}`;
}

/**
 * The path of the list that an object belongs to: a full path for a tenant, a short path for the system
 * tenant.
 */
export function collectionPath(kind: Kind, version: string, location: Omit<Location, 'name'>) {
  const root = kind.group === '' ? `/api/${version}` : `/apis/${kind.group}/${version}`;
  const tenant = location.tenant === '' || location.tenant === 'system' ? '' : `/tenants/${location.tenant}`;
  const namespace = location.namespace === '' ? '' : `/namespaces/${location.namespace}`;
  return `${root}${tenant}${namespace}/${kind.resource}`;
}

/** Arktos ignores the case of the label's value. */
export function isForced(definition: JsonObject) {
  return sharingPolicy(definition).toLowerCase() === 'forced';
}

/** Lists of definitions in a tenant select exactly this value. */
export function isListedInTenants(definition: JsonObject) {
  return sharingPolicy(definition) === 'forced';
}

function sharingPolicy(definition: JsonObject) {
  return textAt(
    objectAt(objectAt(definition, 'metadata'), 'labels'),
    'arktos.futurewei.com/crd-sharing-policy',
  );
}

function addGroups(groups: { name: string; versions: readonly string[] }[], kinds: readonly Kind[]) {
  for (const { group, versions } of kinds) {
    const known = groups.find(({ name }) => name === group);
    if (known === undefined) groups.push({ name: group, versions });
    else known.versions = [...new Set([...known.versions, ...versions])];
  }
}

/** Removes the objects of a definition; for scope `Cluster`, those of every tenant. */
function removeInstances(store: ObjectStore, location: Location, flavour: Flavour) {
  const definition = store.get(location);
  if (definition === undefined) return;
  const { group, resource, shared } = kindDefinedBy(definition, flavour);
  const tenant = flavour === 'kubernetes' || shared ? '' : location.tenant;
  for (const { location: instance } of store.list({ group, resource, tenant })) store.delete(instance);
}

/** The columns of the first version. */
function printerColumnsOf(spec: JsonObject): PrinterColumn[] {
  return objectsAt(objectsAt(spec, 'versions')[0] ?? spec, 'additionalPrinterColumns').map((column) => ({
    name: textAt(column, 'name'),
    type: textAt(column, 'type'),
    jsonPath: textAt(column, 'jsonPath'),
    priority: Number(column.priority ?? 0),
  }));
}

const CUSTOM_VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

/** The kind that a CustomResourceDefinition defines. */
function kindDefinedBy(definition: JsonObject, flavour: Flavour): Kind {
  const spec = objectAt(definition, 'spec');
  const names = objectAt(spec, 'names');
  const versions = objectsAt(spec, 'versions');
  const [group, kind, scope] = [textAt(spec, 'group'), textAt(names, 'kind'), textAt(spec, 'scope')];
  const hasStatus = [spec, ...versions].some((one) => 'status' in objectAt(one, 'subresources'));
  return {
    group,
    versions: versions.length > 0 ? versions.map((one) => textAt(one, 'name')) : [textAt(spec, 'version')],
    resource: textAt(names, 'plural'),
    kind,
    singular: textAt(names, 'singular') || kind.toLowerCase(),
    scope: scope === 'Namespaced' ? 'namespaced' : 'tenant',
    verbs: CUSTOM_VERBS,
    shortNames: textsAt(names, 'shortNames'),
    categories: [],
    subresources: hasStatus ? [{ name: 'status', kind, verbs: OBJECT_VERBS }] : [],
    storageGroup: group,
    custom: true,
    tenanted: scope !== 'Cluster',
    shared: flavour === 'arktos' && scope === 'Cluster',
    printerColumns: printerColumnsOf(spec),
  };
}

/** Creates what the tenant controller creates for a new tenant. */
export function furnishTenant(cluster: Cluster, tenant: string) {
  const make = (group: string, resource: string, name: string, object: JsonObject) => {
    const kind = cluster.kind(group, 'v1', resource, tenant);
    if (kind !== undefined) cluster.write(kind, cluster.locate(kind, tenant, '', name), object);
  };
  for (const name of ['default', 'kube-system', 'kube-public']) make('', 'namespaces', name, {});
  const group = 'rbac.authorization.k8s.io';
  make(group, 'clusterroles', 'admin-role', {
    rules: [rule('*', '*', '*'), { verbs: ['*'], nonResourceURLs: ['*'] }],
  });
  make(group, 'clusterrolebindings', 'admin-role-binding', {
    subjects: [{ kind: 'User', apiGroup: group, name: 'admin' }],
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'admin-role' },
  });
}
