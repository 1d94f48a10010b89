/**
 * Bindings of one subject or role in the order of their namespaces and names; ClusterRoleBindings, which have
 * no namespace, come first. An array, since a user in hundreds of groups has few bindings by each.
 */
import type { StoredBinding } from '../kubernetes/rbac-v1.ts';

export type SortedBindings = readonly StoredBinding[];

/** @param binding that is not among them */
export function insertBinding(bindings: StoredBinding[], binding: StoredBinding): void {
  const last = bindings.at(-1);
  // A list has them in this order.
  if (last === undefined || compareBindings(last, binding) < 0) bindings.push(binding);
  else bindings.splice(position(bindings, binding), 0, binding);
}

export function removeBinding(bindings: StoredBinding[], binding: StoredBinding): void {
  const at = position(bindings, binding);
  if (bindings[at] === binding) bindings.splice(at, 1);
}

/** @param namespace empty for the ClusterRoleBindings */
export function inNamespace(bindings: SortedBindings, namespace: string): SortedBindings {
  const from = lowerBound(bindings, (binding) => binding.namespace < namespace);
  if (bindings[from]?.namespace !== namespace) return [];
  const to = lowerBound(bindings, (binding) => binding.namespace <= namespace);
  return from === 0 && to === bindings.length ? bindings : bindings.slice(from, to);
}

/** The index of the first value for which `isBefore` is false. */
export function lowerBound<T>(sorted: readonly T[], isBefore: (value: T) => boolean): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const value = sorted[middle];
    if (value !== undefined && isBefore(value)) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The index at which the binding is, or belongs. */
function position(bindings: SortedBindings, binding: StoredBinding): number {
  return lowerBound(bindings, (other) => compareBindings(other, binding) < 0);
}

export function compareBindings(one: StoredBinding, other: StoredBinding): number {
  if (one.namespace !== other.namespace) return one.namespace < other.namespace ? -1 : 1;
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
}
