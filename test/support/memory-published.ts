/**
 * An API server in memory behind the port that publishing asks, and what is put into it: uids, resource
 * versions and preconditions as an API server has them, and a place to step in between two calls.
 */

import type { PublishingConfiguration } from '../../src/api/config-publishing-v1alpha1.ts';
import type { PolicyRule } from '../../src/api/kubernetes-object.ts';
import {
  NAMESPACED_KINDS,
  PUBLISHED,
  type PublishedKind,
  resourceName,
  TENANT_KINDS,
} from '../../src/api/published-objects.ts';
import { NAMESPACES, type PublishingRules } from '../../src/publishing/plan.ts';
import type { Place, PublishedObject, PublishedObjects } from '../../src/publishing/ports.ts';

export type Mode = 'arktos' | 'shared';

export interface Stored {
  readonly kind: PublishedKind;
  readonly place: Place;
  readonly object: PublishedObject;
}

export interface MemoryPublished extends PublishedObjects {
  /** Every object. */
  all(): readonly Stored[];
  /** Creates or replaces an object, as another client would. */
  put(kind: PublishedKind, place: Place, object: object): void;
  drop(kind: PublishedKind, place: Place, name: string): void;
  find(kind: PublishedKind, place: Place, name: string): PublishedObject | undefined;
  /** Called before each call; what it throws, the call throws. */
  before: (verb: string, kind: PublishedKind, place: Place, name: string) => void;
  /** Writes so far: `create secrets acme/shared/registry`. */
  readonly writes: string[];
}

export function kindOf(resource: string): PublishedKind {
  const kind = [...NAMESPACED_KINDS, ...TENANT_KINDS, NAMESPACES].find((one) => one.resource === resource);
  if (kind === undefined) throw new Error(`no kind ${resource}`);
  return kind;
}

export const TENANTS: PublishedKind = { group: '', version: 'v1', resource: 'tenants', namespaced: false };

function createMemoryPublished(): MemoryPublished {
  const objects = new Map<string, Stored>();
  const writes: string[] = [];
  let revision = 0;

  const keyOf = (kind: PublishedKind, { tenant = '', namespace = '' }: Place, name: string) =>
    [resourceName(kind), tenant, namespace, name].join('|');

  function store(kind: PublishedKind, place: Place, object: PublishedObject, uid: string): void {
    revision += 1;
    const metadata = {
      ...object.metadata,
      ...(place.tenant !== undefined && { tenant: place.tenant }),
      ...(place.namespace !== undefined && { namespace: place.namespace }),
      uid,
      resourceVersion: String(revision),
    };
    const copy: PublishedObject = structuredClone({ ...object, metadata });
    objects.set(keyOf(kind, place, object.metadata.name), { kind, place, object: copy });
  }

  function note(verb: string, kind: PublishedKind, { tenant, namespace }: Place, name: string): void {
    const path = [tenant, namespace, name].filter((part) => part !== undefined).join('/');
    writes.push(`${verb} ${resourceName(kind)} ${path}`);
  }

  const self: MemoryPublished = {
    writes,
    before: () => {},
    all: () => [...objects.values()],
    find: (kind, place, name) => objects.get(keyOf(kind, place, name))?.object,
    put(kind, place, object) {
      const written: PublishedObject = { apiVersion: 'v1', kind: 'Thing', metadata: { name: '' }, ...object };
      const uid = objects.get(keyOf(kind, place, written.metadata.name))?.object.metadata.uid;
      store(kind, place, written, uid ?? `uid-${revision + 1}`);
    },
    drop: (kind, place, name) => void objects.delete(keyOf(kind, place, name)),
    async list(kind, place, selector, _signal, read) {
      self.before('list', kind, place, '');
      return [...objects.values()]
        .filter((one) => resourceName(one.kind) === resourceName(kind))
        .filter((one) => place.tenant === 'all' || one.place.tenant === place.tenant)
        .filter((one) => place.namespace === undefined || one.place.namespace === place.namespace)
        .map(({ object }) => object)
        .filter(({ metadata: { labels = {} } }) =>
          (selector === '' ? [] : selector.split(',')).every((one) => {
            const [key = '', value] = one.split('=');
            return value === undefined ? labels[key] !== undefined : labels[key] === value;
          }),
        )
        .map(read);
    },
    async get(kind, place, name) {
      self.before('get', kind, place, name);
      return self.find(kind, place, name);
    },
    async create(kind, place, object) {
      const { name } = object.metadata;
      self.before('create', kind, place, name);
      if (objects.has(keyOf(kind, place, name))) return 'exists';
      note('create', kind, place, name);
      store(kind, place, object, `uid-${revision + 1}`);
      return 'created';
    },
    async update(kind, place, object) {
      const { name } = object.metadata;
      self.before('update', kind, place, name);
      const found = self.find(kind, place, name)?.metadata;
      if (found === undefined) return 'gone';
      if (found.resourceVersion !== object.metadata.resourceVersion) return 'conflict';
      note('update', kind, place, name);
      store(kind, place, object, found.uid ?? '');
      return 'updated';
    },
    async delete(kind, place, { metadata }) {
      self.before('delete', kind, place, metadata.name);
      const found = self.find(kind, place, metadata.name)?.metadata;
      if (found === undefined) return 'gone';
      if (found.uid !== metadata.uid || found.resourceVersion !== metadata.resourceVersion) return 'conflict';
      note('delete', kind, place, metadata.name);
      objects.delete(keyOf(kind, place, metadata.name));
      return 'deleted';
    },
  };
  return self;
}

export interface PublishingSite {
  readonly objects: MemoryPublished;
  readonly configuration: PublishingConfiguration;
  readonly rules: PublishingRules;
  /** Where the sources are. */
  readonly home: Place;
  /** Puts an annotated object into the namespace `shared`, or into none. */
  publish(resource: string, name: string, fields: object, annotation?: string, more?: object): void;
  /** Of a copy in a tenant (arktos) or its namespace (shared), both called so. */
  copy(resource: string, name: string, tenant: string): PublishedObject | undefined;
  /** Makes a tenant, with its namespace in shared mode. */
  tenant(name: string, labels?: Readonly<Record<string, string>>): void;
}

export interface SiteOptions {
  readonly mode?: Mode;
  readonly mayGrant?: (rules: readonly PolicyRule[]) => boolean;
  readonly configuration?: Partial<PublishingConfiguration>;
}

/** Two tenants, acme and globex, and the namespace `shared` whose objects are published. */
export function publishingSite({
  mode = 'arktos',
  mayGrant,
  configuration,
}: SiteOptions = {}): PublishingSite {
  const objects = createMemoryPublished();
  const system: Place = mode === 'arktos' ? { tenant: 'system' } : {};
  const home = { ...system, namespace: 'shared' };
  const rules: PublishingRules = {
    mode,
    mayGrant: mayGrant ?? ((given) => given.every(({ resources = [] }) => !resources.includes('nodes'))),
    mayPublishName: (_kind, name) => name.startsWith('shared') || name.endsWith('.example.com'),
    namespaces: configuration?.namespaces ?? ['shared'],
    systemTenant: 'system',
  };
  const site: PublishingSite = {
    objects,
    rules,
    home,
    configuration: {
      namespaces: ['shared'],
      clusterScoped: mode === 'arktos' ? TENANT_KINDS.map((kind) => ({ kind, names: 'shared*' })) : [],
      kinds: [],
      interval: 300_000,
      ...configuration,
    },
    publish(resource, name, fields, annotation = 'all', more = {}) {
      const kind = kindOf(resource);
      objects.put(kind, kind.namespaced ? home : system, {
        ...fields,
        metadata: { name, ...more, annotations: { [PUBLISHED]: annotation, ...annotationsIn(more) } },
      });
    },
    copy(resource, name, tenant) {
      const kind = kindOf(resource);
      const namespace = mode === 'arktos' ? 'shared' : tenant;
      const place = { ...(mode === 'arktos' && { tenant }), ...(kind.namespaced && { namespace }) };
      return objects.find(kind, place, name);
    },
    tenant(name, labels = {}) {
      if (mode === 'arktos') objects.put(TENANTS, {}, { metadata: { name, labels } });
      else {
        const own = { 'managed-by': 'stonegate', 'project-id': `p-${name}`, 'domain-id': name };
        const marks = Object.entries(own).map(([key, value]) => [`stonegate.dev/${key}`, value]);
        objects.put(
          NAMESPACES,
          {},
          { metadata: { name, labels: { ...Object.fromEntries(marks), ...labels } } },
        );
      }
    },
  };
  objects.put(NAMESPACES, system, { metadata: { name: 'shared' } });
  if (mode === 'arktos') objects.put(TENANTS, {}, { metadata: { name: 'system' } });
  for (const name of ['acme', 'globex']) site.tenant(name);
  return site;
}

function annotationsIn(more: object): object {
  return 'annotations' in more && typeof more.annotations === 'object' ? { ...more.annotations } : {};
}
