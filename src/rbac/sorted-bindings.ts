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
  if (last === undefined || isBefore(last, binding.namespace, binding.name)) bindings.push(binding);
  else bindings.splice(position(bindings, binding.namespace, binding.name), 0, binding);
}

export function removeBinding(bindings: StoredBinding[], binding: StoredBinding): void {
  const at = position(bindings, binding.namespace, binding.name);
  if (bindings[at] === binding) bindings.splice(at, 1);
}

/** @param namespace empty for the ClusterRoleBindings */
export function inNamespace(bindings: SortedBindings, namespace: string): SortedBindings {
  const from = position(bindings, namespace, '');
  if (bindings[from]?.namespace !== namespace) return [];
  const to = firstBehind(bindings, namespace, from);
  return from === 0 && to === bindings.length ? bindings : bindings.slice(from, to);
}

/** The position of the first binding of a later namespace. */
function firstBehind(bindings: SortedBindings, namespace: string, start: number): number {
  let from = start;
  let to = bindings.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((bindings[middle]?.namespace ?? '') <= namespace) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The index at which a binding of that namespace and name is, or belongs. */
function position(bindings: SortedBindings, namespace: string, name: string): number {
  let from = 0;
  let to = bindings.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const binding = bindings[middle];
    if (binding !== undefined && isBefore(binding, namespace, name)) from = middle + 1;
    else to = middle;
  }
  return from;
}

function isBefore(binding: StoredBinding, namespace: string, name: string): boolean {
  return binding.namespace === namespace ? binding.name < name : binding.namespace < namespace;
}

export function compareBindings(one: StoredBinding, other: StoredBinding): number {
  if (one.namespace !== other.namespace) return one.namespace < other.namespace ? -1 : 1;
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
}
