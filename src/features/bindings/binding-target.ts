/**
 * The namespace or tenant that a binding applies to: it must still be the one that Stonegate made for this
 * project or domain when users are bound in it.
 */

import {
  type Binding,
  KINDS,
  type Place,
  placeOf,
  type StoredObject,
} from '../../kubernetes/kubernetes-object.ts';
import type { Target } from '../../kubernetes/reconcile/plan.ts';
import { BASIC_USER_ROLE } from '../../rbac/cluster-roles.ts';
import { isManaged, ownerLabels } from './managed-object.ts';

/** @returns undefined for a place that is neither a namespace nor a tenant */
export function targetOf(binding: Binding, { tenant, namespace }: Place): Target | undefined {
  const problem = (found: StoredObject | undefined) => targetProblem(found, binding);
  if (namespace !== undefined)
    return { kind: KINDS.Namespace, place: placeOf({ tenant }), name: namespace, problem };
  return tenant === undefined ? undefined : { kind: KINDS.Tenant, place: {}, name: tenant, problem };
}

/** @returns why the binding must not be written; undefined if it may be */
function targetProblem(target: StoredObject | undefined, binding: Binding): string | undefined {
  if (target === undefined) return 'there is nothing that Stonegate made to bind it in';
  const { metadata, kind } = target;
  const name = `the ${kind.toLowerCase()} ${metadata.name}`;
  if (metadata.deletionTimestamp !== undefined) return `${name} is being deleted`;
  // All users of every tenant may create self access reviews.
  if (kind === 'Tenant' && binding.roleRef.name === BASIC_USER_ROLE) return undefined;
  const owner = kind === 'Namespace' ? 'projectID' : 'domainID';
  const [its, wanted] = [ownerLabels(metadata)[owner], ownerLabels(binding.metadata)[owner]];
  return isManaged(target) && its !== undefined && its === wanted
    ? undefined
    : `${name} was not made by Stonegate for it`;
}
