/**
 * Bindings of one subject or role in the order of their namespaces and names; ClusterRoleBindings, which have
 * no namespace, come first. An array, since a user in hundreds of groups has few bindings by each.
 */
import type { StoredBinding } from '../api/rbac-v1.ts';

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
  let to = from;
  while (bindings[to]?.namespace === namespace) to += 1;
  return from === 0 && to === bindings.length ? bindings : bindings.slice(from, to);
}

/** Where a binding of that namespace and name is, or belongs. */
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
  if (isBefore(one, other.namespace, other.name)) return -1;
  return isBefore(other, one.namespace, one.name) ? 1 : 0;
}
