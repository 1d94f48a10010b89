/**
 * Plans what the cluster needs to match Keystone. Pure. Changed objects are restored and managed bindings
 * that are no longer desired are deleted. Namespaces, tenants and roles are never deleted, nor namespaces and
 * tenants changed; objects that Stonegate did not create stay as they are.
 */

import { KINDS, placeOf, type StoredObject } from '../../kubernetes/kubernetes-object.ts';
import { type Existing, makePlan, type Plan } from '../../kubernetes/reconcile/plan.ts';
import { BASIC_USER_ROLE } from '../../rbac/cluster-roles.ts';
import { type DesiredObjectRules, desiredObjects, resolveNamespaces } from './desired-objects.ts';
import type { DesiredState } from './desired-state.ts';
import { isManaged, labelValue, ownerLabels } from './managed-object.ts';
import type { ClusterState } from './read-state.ts';
import type { StoredBinding } from './stored-binding.ts';

export function computePlan(
  desired: DesiredState,
  cluster: ClusterState,
  rules: DesiredObjectRules,
): Promise<Plan> {
  const resolved = resolveNamespaces(desired, cluster);
  const isUntouched = untouchedBy(desired, rules);
  const containers = [
    ...cluster.tenants.map((object): Existing => ({ kind: KINDS.Tenant, place: {}, object })),
    ...cluster.places.flatMap(({ tenant, namespaces, clusterRoles }) => [
      ...namespaces.map(
        (object): Existing => ({ kind: KINDS.Namespace, place: placeOf({ tenant }), object }),
      ),
      ...clusterRoles.map(
        (object): Existing => ({ kind: KINDS.ClusterRole, place: placeOf({ tenant }), object }),
      ),
    ]),
  ];
  const bindings = cluster.places.flatMap(({ tenant, bindings }) =>
    bindings.map((object) => ({ object, ...locationOf(object, tenant) })),
  );
  return makePlan({
    desired: desiredObjects(resolved, rules),
    existing: [
      ...containers,
      ...bindings.map((one) => ({
        ...one,
        deletion:
          isManaged(one.object) && !isUntouched(one.object)
            ? { reason: staleReason(one.object), isOwned: isManaged }
            : undefined,
      })),
    ],
    refusals: [...desired.refusals, ...resolved.refusals],
    // The basic-user binding always stays; counting it would understate the share of deletions.
    guarded: bindings
      .filter(({ object }) => isManaged(object) && object.roleRef.name !== BASIC_USER_ROLE)
      .map(({ place }) => place),
  });
}

/**
 * Describes the binding by its role and subjects: a user who may write rolebindings there may have changed
 * its annotations.
 */
function staleReason({ roleRef, subjects }: StoredBinding): string {
  const [first = 'nobody', ...others] = subjects.map(({ name }) => name);
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `nothing asks any more for ${roleRef.name} of ${first}${more}`;
}

function locationOf({ kind, metadata: { namespace } }: StoredObject, tenant: string | undefined) {
  return kind === 'RoleBinding' && namespace !== undefined
    ? { kind: KINDS.RoleBinding, place: placeOf({ tenant, namespace }) }
    : { kind: KINDS.ClusterRoleBinding, place: placeOf({ tenant }) };
}

function untouchedBy(
  { untouched }: DesiredState,
  { createRoles }: DesiredObjectRules,
): (binding: StoredBinding) => boolean {
  const projects = new Set([...untouched.projectIDs].map(labelValue));
  const domains = new Set([...untouched.domainIDs].map(labelValue));
  return ({ metadata, roleRef }) => {
    const { projectID, domainID } = ownerLabels(metadata);
    const ignored =
      (projectID !== undefined && projects.has(projectID)) ||
      (domainID !== undefined && domains.has(domainID));
    return ignored || (!createRoles && roleRef.name === BASIC_USER_ROLE);
  };
}
