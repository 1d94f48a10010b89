/**
 * A cluster in memory behind the port that provisioning asks: uids, resource versions and preconditions as an
 * API server has them, and a place to step in between two calls.
 */
import type { KubernetesObject, ObjectKind } from '../../src/api/kubernetes-object.ts';
import type { ClusterObjects, KubernetesObjectReference, Place } from '../../src/bindings/ports.ts';

export interface MemoryCluster extends ClusterObjects {
  /** Everything, by `kind/tenant/namespace/name`. */
  readonly objects: ReadonlyMap<string, { readonly object: KubernetesObject; readonly place: Place }>;
  /** Creates an object as another client would. */
  put(object: KubernetesObject, place: Place): void;
  /** Takes it away, with a namespace what is in it. */
  drop(reference: KubernetesObjectReference): void;
  /** Called before each call, with its verb; what it throws, the call throws. */
  before: (verb: string, reference: KubernetesObjectReference) => void;
  /** Writes so far: `create Namespace/…`. */
  readonly writes: string[];
}

export function createMemoryCluster(): MemoryCluster {
  const objects = new Map<string, { object: KubernetesObject; place: Place }>();
  const writes: string[] = [];
  let revision = 0;

  const keyOf = ({ kind, tenant = '', namespace = '', name }: KubernetesObjectReference) =>
    [kind, tenant, namespace, name].join('/');
  const referenceTo = ({ kind, metadata }: KubernetesObject, place: Place): KubernetesObjectReference => ({
    kind,
    name: metadata.name,
    ...place,
  });

  function store(object: KubernetesObject, place: Place, uid: string): void {
    revision += 1;
    const metadata = { ...object.metadata, uid, resourceVersion: String(revision) };
    objects.set(keyOf(referenceTo(object, place)), { object: { ...object, metadata }, place });
  }

  function drop(reference: KubernetesObjectReference): void {
    objects.delete(keyOf(reference));
    if (reference.kind !== 'Namespace') return;
    for (const [key, { place }] of objects)
      if (place.namespace === reference.name && place.tenant === reference.tenant) objects.delete(key);
  }

  const isKind = <K extends ObjectKind>(
    object: KubernetesObject,
    kind: K,
  ): object is Extract<KubernetesObject, { kind: K }> => object.kind === kind;

  const self: MemoryCluster = {
    objects,
    writes,
    before: () => {},
    put(object, place) {
      revision += 1;
      store(object, place, `uid-${revision}`);
    },
    drop,
    async list(kind, place, labelSelector) {
      self.before('list', { kind, name: '', ...place });
      return [...objects.values()]
        .filter((one) => one.place.tenant === place.tenant || kind === 'Tenant')
        .filter((one) => place.namespace === undefined || one.place.namespace === place.namespace)
        .filter(({ object }) => isSelected(object, labelSelector))
        .flatMap(({ object }) => (isKind(object, kind) ? [object] : []));
    },
    async get(reference) {
      self.before('get', reference);
      return objects.get(keyOf(reference))?.object;
    },
    async create(object, place) {
      const reference = referenceTo(object, place);
      self.before('create', reference);
      if (objects.has(keyOf(reference))) return 'exists';
      writes.push(`create ${keyOf(reference)}`);
      self.put(object, place);
      return 'created';
    },
    async update(object, place) {
      const reference = referenceTo(object, place);
      self.before('update', reference);
      const found = objects.get(keyOf(reference))?.object.metadata;
      if (found === undefined) return 'gone';
      if (found.resourceVersion !== object.metadata.resourceVersion) return 'conflict';
      writes.push(`update ${keyOf(reference)}`);
      store(object, place, found.uid ?? '');
      return 'updated';
    },
    async delete(object, place) {
      const reference = referenceTo(object, place);
      self.before('delete', reference);
      const found = objects.get(keyOf(reference))?.object.metadata;
      if (found === undefined) return 'gone';
      if (found.resourceVersion !== object.metadata.resourceVersion || found.uid !== object.metadata.uid)
        return 'conflict';
      writes.push(`delete ${keyOf(reference)}`);
      drop(reference);
      return 'deleted';
    },
  };
  return self;
}

/** @param selector as `key=value,key=value` */
function isSelected({ metadata: { labels = {} } }: KubernetesObject, selector: string): boolean {
  const wanted = selector === '' ? [] : selector.split(',').map((one) => one.split('='));
  return wanted.every(([key = '', value]) => labels[key] === value);
}
