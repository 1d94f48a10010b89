/**
 * One tenant's namespaces, roles and bindings (on an ordinary API server, the whole cluster's), with bindings
 * inverted: by subject and namespace, and by role. Pure data; `rbac-index.ts` changes it.
 */
import type {
  IndexedResource,
  StoredBinding,
  StoredNamespace,
  StoredObject,
  StoredRole,
} from '../api/rbac-v1.ts';
import { keysOfBinding, type SubjectKey } from './subject-key.ts';

/** Bindings of one subject by namespace, in the order of their names; `''` for ClusterRoleBindings. */
export type BindingsByNamespace = ReadonlyMap<string, readonly StoredBinding[]>;

const NONE: BindingsByNamespace = new Map();

export class TenantObjects {
  readonly #namespaces = new Map<string, StoredNamespace>();
  /** By `namespace/name`; a ClusterRole's namespace is empty. */
  readonly #roles = new Map<string, StoredRole>();
  readonly #bindings = new Map<string, StoredBinding>();
  readonly #bySubject = new Map<SubjectKey, Map<string, StoredBinding[]>>();
  readonly #byRole = new Map<string, Set<StoredBinding>>();
  readonly #byNamespace = new Map<string, Set<StoredBinding>>();

  get isEmpty(): boolean {
    return this.#namespaces.size + this.#roles.size + this.#bindings.size === 0;
  }

  get namespaces(): ReadonlyMap<string, StoredNamespace> {
    return this.#namespaces;
  }

  namespace(name: string): StoredNamespace | undefined {
    return this.#namespaces.get(name);
  }

  /** All roles: those of a namespace, or the ClusterRoles if it is empty, are found by `role`. */
  get roles(): IterableIterator<StoredRole> {
    return this.#roles.values();
  }

  /** @param namespace empty for a ClusterRole */
  role(namespace: string, name: string): StoredRole | undefined {
    return this.#roles.get(keyOf(namespace, name));
  }

  /** @returns undefined if the role is missing, or the reference is of no known kind */
  roleOf({ roleRef, namespace }: StoredBinding): StoredRole | undefined {
    if (roleRef.kind === 'ClusterRole') return this.role('', roleRef.name);
    return roleRef.kind === 'Role' && namespace !== '' ? this.role(namespace, roleRef.name) : undefined;
  }

  /** @param namespace empty for a ClusterRoleBinding */
  binding(namespace: string, name: string): StoredBinding | undefined {
    return this.#bindings.get(keyOf(namespace, name));
  }

  /** In no order. @param namespace empty for the ClusterRoleBindings */
  bindingsIn(namespace: string): ReadonlySet<StoredBinding> {
    return this.#byNamespace.get(namespace) ?? new Set();
  }

  bindingsOfSubject(key: SubjectKey): BindingsByNamespace {
    return this.#bySubject.get(key) ?? NONE;
  }

  bindingsOfRole({ namespace, name }: Pick<StoredRole, 'namespace' | 'name'>): ReadonlySet<StoredBinding> {
    return this.#byRole.get(keyOf(namespace, name)) ?? new Set();
  }

  /** Those that refer to a role that does not exist, in no order. */
  *bindingsWithoutRole(): Generator<StoredBinding> {
    for (const [role, bindings] of this.#byRole) if (!this.#roles.has(role)) yield* bindings;
  }

  /** In no order. */
  *all(resource: IndexedResource): Generator<StoredObject> {
    if (resource === 'namespaces') yield* this.#namespaces.values();
    else {
      const objects = resource.endsWith('bindings') ? this.#bindings : this.#roles;
      for (const object of objects.values()) if (object.resource === resource) yield object;
    }
  }

  find(object: StoredObject): StoredObject | undefined {
    if (object.resource === 'namespaces') return this.#namespaces.get(object.name);
    const key = keyOf(object.namespace, object.name);
    return isBinding(object) ? this.#bindings.get(key) : this.#roles.get(key);
  }

  put(object: StoredObject): void {
    if (object.resource === 'namespaces') this.#namespaces.set(object.name, object);
    else if (isBinding(object)) this.#putBinding(object);
    else this.#roles.set(keyOf(object.namespace, object.name), object);
  }

  delete(object: StoredObject): void {
    if (object.resource === 'namespaces') this.#namespaces.delete(object.name);
    else if (isBinding(object)) this.#deleteBinding(object);
    else this.#roles.delete(keyOf(object.namespace, object.name));
  }

  #putBinding(binding: StoredBinding): void {
    this.#deleteBinding(binding);
    this.#bindings.set(keyOf(binding.namespace, binding.name), binding);
    for (const key of keysOfBinding(binding)) {
      const places = getOrCreate(this.#bySubject, key, () => new Map<string, StoredBinding[]>());
      const bindings = getOrCreate(places, binding.namespace, (): StoredBinding[] => []);
      bindings.splice(position(bindings, binding.name), 0, binding);
    }
    const role = roleKeyOf(binding);
    if (role !== undefined) getOrCreate(this.#byRole, role, () => new Set<StoredBinding>()).add(binding);
    getOrCreate(this.#byNamespace, binding.namespace, () => new Set<StoredBinding>()).add(binding);
  }

  #deleteBinding({ namespace, name }: StoredBinding): void {
    const key = keyOf(namespace, name);
    const known = this.#bindings.get(key);
    if (known === undefined) return;
    this.#bindings.delete(key);
    for (const subject of keysOfBinding(known)) this.#deleteFromSubject(subject, known);
    const role = roleKeyOf(known);
    if (role !== undefined) deleteFromSet(this.#byRole, role, known);
    deleteFromSet(this.#byNamespace, namespace, known);
  }

  #deleteFromSubject(key: SubjectKey, binding: StoredBinding): void {
    const places = this.#bySubject.get(key);
    const bindings = places?.get(binding.namespace);
    if (places === undefined || bindings === undefined) return;
    const at = bindings.indexOf(binding);
    if (at >= 0) bindings.splice(at, 1);
    if (bindings.length === 0) places.delete(binding.namespace);
    if (places.size === 0) this.#bySubject.delete(key);
  }
}

export function isBinding(object: StoredObject): object is StoredBinding {
  return object.resource === 'rolebindings' || object.resource === 'clusterrolebindings';
}

/** No name of a namespace contains a slash; a role's may. */
function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

function roleKeyOf({ roleRef, namespace }: StoredBinding): string | undefined {
  if (roleRef.kind === 'ClusterRole') return keyOf('', roleRef.name);
  return roleRef.kind === 'Role' && namespace !== '' ? keyOf(namespace, roleRef.name) : undefined;
}

/** Where a binding of that name belongs in the order of names. */
function position(bindings: readonly StoredBinding[], name: string): number {
  let from = 0;
  let to = bindings.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((bindings[middle]?.name ?? '') < name) from = middle + 1;
    else to = middle;
  }
  return from;
}

function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const created = create();
  map.set(key, created);
  return created;
}

function deleteFromSet<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const values = map.get(key);
  values?.delete(value);
  if (values?.size === 0) map.delete(key);
}
