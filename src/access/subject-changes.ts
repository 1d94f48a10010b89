/**
 * Whom a change of the RBAC index concerns: the users under whose keys (a user name or a group) a binding has
 * changed. Users are compared by what RBAC sees of them.
 */
import type { RBACUser, SubjectByNamespace } from '../rbac/attributes.ts';
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

/** Values about users, found by the keys of a change without a look at the others. */
export class ValuesBySubject<T> {
  readonly #tenants = new Map<string, Map<SubjectKey, Set<T>>>();

  /** @param tenant whose bindings count */
  add(tenant: string, keys: Iterable<SubjectKey>, value: T): void {
    const byKey = this.#tenants.get(tenant) ?? new Map<SubjectKey, Set<T>>();
    this.#tenants.set(tenant, byKey);
    for (const key of keys) {
      const values = byKey.get(key);
      if (values === undefined) byKey.set(key, new Set([value]));
      else values.add(value);
    }
  }

  /** @param keys as it was added */
  delete(tenant: string, keys: Iterable<SubjectKey>, value: T): void {
    const byKey = this.#tenants.get(tenant);
    if (byKey === undefined) return;
    for (const key of keys) {
      const values = byKey.get(key);
      values?.delete(value);
      if (values?.size === 0) byKey.delete(key);
    }
    if (byKey.size === 0) this.#tenants.delete(tenant);
  }

  /** A copy: the values may be deleted while it is read. */
  under(tenant: string, keys: Iterable<SubjectKey>): Set<T> {
    const byKey = this.#tenants.get(tenant);
    const found = new Set<T>();
    if (byKey !== undefined)
      for (const key of keys) for (const value of byKey.get(key) ?? []) found.add(value);
    return found;
  }

  clear(): void {
    this.#tenants.clear();
  }
}
