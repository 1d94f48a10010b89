/**
 * One tenant's namespaces, roles and bindings (on an ordinary API server, the whole cluster's), with bindings
 * inverted: by subject, and by role. Pure data; `rbac-index.ts` changes it.
 */
import type {
  IndexedResource,
  StoredBinding,
  StoredNamespace,
  StoredObject,
  StoredRole,
} from '../kubernetes/rbac-v1.ts';
import { TENANT_KEY } from '../kubernetes/reserved-names.ts';
import { insertBinding, removeBinding, type SortedBindings } from './sorted-bindings.ts';
import { keysOfBinding, type SubjectKey } from './subject-key.ts';

const NO_BINDINGS: SortedBindings = [];
const NO_NAMED_BINDINGS: ReadonlyMap<string, StoredBinding> = new Map();

/** Maps within maps, since putting two names together would cost more than looking both up. */
export class TenantObjects {
  readonly #namespaces = new Map<string, StoredNamespace>();
  /** Namespace → name → role; a ClusterRole's namespace is empty. */
  readonly #roles = new NestedMap<StoredRole>();
  /** Namespace → name → binding; a ClusterRoleBinding's namespace is empty. */
  readonly #bindings = new NestedMap<StoredBinding>();
  readonly #bySubject = new Map<SubjectKey, StoredBinding[]>();
  /** Namespace → name of the role → its bindings; a ClusterRole's namespace is empty. */
  readonly #byRole = new NestedMap<StoredBinding[]>();
  readonly #tooLarge = new Set<StoredRole | StoredBinding>();
  #version = 0;

  /** Another number after each change of a role, of a binding, and of which namespaces a tenant has. */
  get version(): number {
    return this.#version;
  }

  get isEmpty(): boolean {
    return this.#namespaces.size === 0 && this.#roles.isEmpty && this.#bindings.isEmpty;
  }

  get namespaces(): ReadonlyMap<string, StoredNamespace> {
    return this.#namespaces;
  }

  /** Roles and bindings whose rules or subjects are not known. */
  get tooLarge(): ReadonlySet<StoredRole | StoredBinding> {
    return this.#tooLarge;
  }

  /** Roles and ClusterRoles, in no order. */
  get roles(): Iterable<StoredRole> {
    return this.#roles.values();
  }

  /** @param namespace empty for a ClusterRole */
  role(namespace: string, name: string): StoredRole | undefined {
    return this.#roles.get(namespace, name);
  }

  /** @returns undefined if the role is missing, or the reference is of no known kind */
  roleOf(binding: StoredBinding): StoredRole | undefined {
    const namespace = roleNamespaceOf(binding);
    return namespace === undefined ? undefined : this.role(namespace, binding.roleRef.name);
  }

  /** The bindings by name, in no order. @param namespace empty for the ClusterRoleBindings */
  bindingsIn(namespace: string): ReadonlyMap<string, StoredBinding> {
    return this.#bindings.in(namespace) ?? NO_NAMED_BINDINGS;
  }

  bindingsOfSubject(key: SubjectKey): SortedBindings {
    return this.#bySubject.get(key) ?? NO_BINDINGS;
  }

  bindingsOfRole({ namespace, name }: Pick<StoredRole, 'namespace' | 'name'>): SortedBindings {
    return this.#byRole.get(namespace, name) ?? NO_BINDINGS;
  }

  /** Bindings that refer to a role that does not exist, in no order. */
  *bindingsWithoutRole(): Generator<StoredBinding> {
    for (const [namespace, name, bindings] of this.#byRole.entries())
      if (this.role(namespace, name) === undefined) yield* bindings;
  }

  /** The objects come in no order. */
  *all(resource: IndexedResource): Generator<StoredObject> {
    if (resource === 'namespaces') yield* this.#namespaces.values();
    else {
      const objects = resource.endsWith('bindings') ? this.#bindings : this.#roles;
      for (const object of objects.values()) if (object.resource === resource) yield object;
    }
  }

  find(object: StoredObject): StoredObject | undefined {
    if (object.resource === 'namespaces') return this.#namespaces.get(object.name);
    const objects = isBinding(object) ? this.#bindings : this.#roles;
    return objects.get(object.namespace, object.name);
  }

  put(object: StoredObject): void {
    if (object.resource === 'namespaces') {
      const known = this.#namespaces.get(object.name);
      if (known?.labels[TENANT_KEY] !== object.labels[TENANT_KEY] || known === undefined) this.#version += 1;
      this.#namespaces.set(object.name, object);
      return;
    }
    this.#version += 1;
    const known = isBinding(object)
      ? this.#putBinding(object)
      : this.#roles.put(object.namespace, object.name, object);
    if (known !== undefined) this.#tooLarge.delete(known);
    if (object.isTooLarge) this.#tooLarge.add(object);
  }

  /** @param object that was found here */
  delete(object: StoredObject): void {
    this.#version += 1;
    if (object.resource === 'namespaces') {
      this.#namespaces.delete(object.name);
      return;
    }
    this.#tooLarge.delete(object);
    const objects = isBinding(object) ? this.#bindings : this.#roles;
    objects.delete(object.namespace, object.name);
    if (isBinding(object)) this.#unlink(object);
  }

  /** @returns the binding that it replaces */
  #putBinding(binding: StoredBinding): StoredBinding | undefined {
    const known = this.#bindings.put(binding.namespace, binding.name, binding);
    if (known !== undefined) this.#unlink(known);
    for (const key of keysOfBinding(binding)) {
      const bindings = this.#bySubject.get(key);
      if (bindings === undefined) this.#bySubject.set(key, [binding]);
      else insertBinding(bindings, binding);
    }
    const namespace = roleNamespaceOf(binding);
    if (namespace === undefined) return known;
    const bound = this.#byRole.get(namespace, binding.roleRef.name);
    if (bound === undefined) this.#byRole.put(namespace, binding.roleRef.name, [binding]);
    else insertBinding(bound, binding);
    return known;
  }

  #unlink(binding: StoredBinding): void {
    for (const key of keysOfBinding(binding)) {
      const bindings = this.#bySubject.get(key) ?? [];
      removeBinding(bindings, binding);
      if (bindings.length === 0) this.#bySubject.delete(key);
    }
    const namespace = roleNamespaceOf(binding);
    if (namespace === undefined) return;
    const { name } = binding.roleRef;
    const bound = this.#byRole.get(namespace, name) ?? [];
    removeBinding(bound, binding);
    if (bound.length === 0) this.#byRole.delete(namespace, name);
  }
}

/** Values by namespace and name. */
class NestedMap<V> {
  readonly #namespaces = new Map<string, Map<string, V>>();

  get isEmpty(): boolean {
    return this.#namespaces.size === 0;
  }

  in(namespace: string): ReadonlyMap<string, V> | undefined {
    return this.#namespaces.get(namespace);
  }

  get(namespace: string, name: string): V | undefined {
    return this.#namespaces.get(namespace)?.get(name);
  }

  /** @returns the value that it replaces */
  put(namespace: string, name: string, value: V): V | undefined {
    let values = this.#namespaces.get(namespace);
    if (values === undefined) {
      values = new Map();
      this.#namespaces.set(namespace, values);
    }
    const known = values.get(name);
    values.set(name, value);
    return known;
  }

  delete(namespace: string, name: string): void {
    const values = this.#namespaces.get(namespace);
    values?.delete(name);
    if (values?.size === 0) this.#namespaces.delete(namespace);
  }

  *values(): Generator<V> {
    for (const values of this.#namespaces.values()) yield* values.values();
  }

  *entries(): Generator<readonly [namespace: string, name: string, value: V]> {
    for (const [namespace, values] of this.#namespaces)
      for (const [name, value] of values) yield [namespace, name, value];
  }
}

export function isBinding(object: StoredObject): object is StoredBinding {
  return object.resource === 'rolebindings' || object.resource === 'clusterrolebindings';
}

/**
 * @returns the namespace of the role that a binding refers to, empty for a ClusterRole; undefined for a
 *   reference that no API server accepts
 */
function roleNamespaceOf({ roleRef: { kind }, namespace }: StoredBinding): string | undefined {
  if (kind === 'ClusterRole') return '';
  return kind === 'Role' && namespace !== '' ? namespace : undefined;
}
