/**
 * Whom a change of the RBAC index concerns: the users under whose keys (a user name or a group) a binding has
 * changed. The cost of a change is that of its own keys or of all known ones, whichever are fewer, and that
 * of what it concerns.
 */
import type { RBACUser, SubjectByNamespace } from '../rbac/attributes.ts';
import type { Change } from '../rbac/change.ts';
import { keysOfUser, type SubjectKey } from '../rbac/subject-key.ts';

/** Under which bindings of the user are found, in any namespace. */
export function keysOfSubject({ cluster, other, namespaces }: SubjectByNamespace): ReadonlySet<SubjectKey> {
  if (cluster === other && namespaces.size === 0) return keysOfUser(cluster);
  return new Set([cluster, other, ...namespaces.values()].flatMap((user) => [...keysOfUser(user)]));
}

/** Equal for equal subjects, however their groups are ordered. */
export function fingerprintOfSubject({ cluster, other, namespaces }: SubjectByNamespace): string {
  const places = [...namespaces]
    .sort(([one], [another]) => (one < another ? -1 : 1))
    .map(([name, user]) => [name, factsOf(user)]);
  return JSON.stringify([factsOf(cluster), cluster === other ? null : factsOf(other), places]);
}

function factsOf({ tenant, username, groups }: RBACUser): readonly unknown[] {
  return [tenant, username, [...groups].sort()];
}

/** The changes that concern something. */
export interface Concerns {
  readonly tenant: string;
  /** Changes of the access of these. */
  readonly keys: ReadonlySet<SubjectKey>;
  /** Also each new and each deleted namespace. */
  readonly namespaces: boolean;
}

interface OfTenant<T> {
  readonly byKey: Map<SubjectKey, Set<T>>;
  readonly byNamespaces: Set<T>;
}

export class ByConcern<T extends { readonly concerns: Concerns }> {
  readonly #tenants = new Map<string, OfTenant<T>>();

  get isEmpty(): boolean {
    return this.#tenants.size === 0;
  }

  add(value: T): void {
    const { tenant, keys, namespaces } = value.concerns;
    let known = this.#tenants.get(tenant);
    if (known === undefined) {
      known = { byKey: new Map(), byNamespaces: new Set() };
      this.#tenants.set(tenant, known);
    }
    if (namespaces) known.byNamespaces.add(value);
    for (const key of keys) {
      const values = known.byKey.get(key);
      if (values === undefined) known.byKey.set(key, new Set([value]));
      else values.add(value);
    }
  }

  delete(value: T): void {
    const { tenant, keys } = value.concerns;
    const known = this.#tenants.get(tenant);
    if (known === undefined) return;
    known.byNamespaces.delete(value);
    for (const key of keys) {
      const values = known.byKey.get(key);
      values?.delete(value);
      if (values?.size === 0) known.byKey.delete(key);
    }
    if (known.byKey.size === 0 && known.byNamespaces.size === 0) this.#tenants.delete(tenant);
  }

  clear(): void {
    this.#tenants.clear();
  }

  /** A copy, so that each may be deleted meanwhile. */
  concernedBy(change: Change): ReadonlySet<T> {
    const known = this.#tenants.get(change.tenant);
    if (known === undefined) return new Set();
    if (change.kind === 'namespace') return new Set(change.type === 'MODIFIED' ? [] : known.byNamespaces);
    return valuesOf(known.byKey, change.subjects);
  }
}

/** The values of the keys, without duplicates. */
export function valuesOf<T>(
  byKey: ReadonlyMap<SubjectKey, ReadonlySet<T>>,
  keys: ReadonlySet<SubjectKey>,
): Set<T> {
  const values = new Set<T>();
  if (byKey.size < keys.size) {
    for (const [key, some] of byKey) if (keys.has(key)) for (const value of some) values.add(value);
  } else for (const key of keys) for (const value of byKey.get(key) ?? []) values.add(value);
  return values;
}
