/**
 * Whom a change of the RBAC index concerns: the users under whose keys (a user name or a group) a binding has
 * changed. The cost of a change is that of its own keys and of what it concerns.
 */
import type { RBACUser, SubjectByNamespace } from './attributes.ts';
import { keysOfUser, type SubjectKey } from './subject-key.ts';

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

/** What concerns something: changes of the access of these subjects. */
export interface Concerns {
  readonly tenant: string;
  readonly keys: ReadonlySet<SubjectKey>;
}

export class ByConcern<T extends { readonly concerns: Concerns }> {
  /** Tenant → key → values. */
  readonly #tenants = new Map<string, Map<SubjectKey, Set<T>>>();

  add(value: T): void {
    const { tenant, keys } = value.concerns;
    const byKey = this.#tenants.get(tenant) ?? new Map<SubjectKey, Set<T>>();
    this.#tenants.set(tenant, byKey);
    for (const key of keys) {
      const values = byKey.get(key);
      if (values === undefined) byKey.set(key, new Set([value]));
      else values.add(value);
    }
  }

  delete(value: T): void {
    const { tenant, keys } = value.concerns;
    const byKey = this.#tenants.get(tenant);
    if (byKey === undefined) return;
    for (const key of keys) {
      const values = byKey.get(key);
      values?.delete(value);
      if (values?.size === 0) byKey.delete(key);
    }
    if (byKey.size === 0) this.#tenants.delete(tenant);
  }

  /** A copy, so that each may be deleted meanwhile. */
  concernedBy({ tenant, keys }: Concerns): ReadonlySet<T> {
    const byKey = this.#tenants.get(tenant);
    const values = new Set<T>();
    for (const key of keys) for (const value of byKey?.get(key) ?? []) values.add(value);
    return values;
  }
}
