/**
 * Computes the plan: the difference between desired and existing objects. Pure. Changed objects are restored
 * and managed bindings that are no longer desired are deleted. Namespaces, tenants and roles are never
 * deleted, nor namespaces and tenants changed; objects that Stonegate did not create stay as they are.
 */

import { BASIC_USER_ROLE } from '../api/cluster-roles.ts';
import type { Binding, KubernetesObject } from '../api/kubernetes-object.ts';
import { replaces, withDrift } from '../lib/object-drift.ts';
import {
  type DesiredObject,
  type DesiredObjectRules,
  desiredObjects,
  resolveNamespaces,
} from './desired-objects.ts';
import type { DesiredState } from './desired-state.ts';
import { isManaged, labelValue, ownerLabels } from './managed-object.ts';
import type { Change, Plan, ProvisioningRefusal } from './plan.ts';
import type { Place } from './ports.ts';
import type { ClusterState } from './read-state.ts';

export function computePlan(desired: DesiredState, cluster: ClusterState, rules: DesiredObjectRules): Plan {
  const resolved = resolveNamespaces(desired, cluster);
  const wanted = desiredObjects(resolved, rules);
  const existing = existingObjects(cluster);
  const refusals: ProvisioningRefusal[] = [...desired.refusals, ...resolved.refusals];
  const wantedKeys = new Set<string>();
  const changes: Change[] = [];
  let unchanged = 0;
  for (const item of wanted) {
    const key = objectKey(item.object, item.place);
    wantedKeys.add(key);
    const found = compare(item, existing.get(key)?.object);
    if ('refused' in found) refusals.push({ subject: titleOf(item), reason: found.refused });
    else if (found.changes.length === 0) unchanged += 1;
    else changes.push(...found.changes);
  }
  const ours = [...existing].flatMap(([key, { object, place }]) =>
    isBinding(object) && isManaged(object) ? [{ key, object, place }] : [],
  );
  const isUntouched = untouchedBy(desired, rules);
  const stale = ours.filter(({ key, object }) => !wantedKeys.has(key) && !isUntouched(object));
  const deletions = stale.map(
    ({ object, place }): Change => ({
      action: 'delete',
      object,
      place,
      reason: staleReason(object),
    }),
  );
  // The basic-user binding always stays; counting it would understate the share of deletions.
  const counted = ours.filter(({ object }) => object.roleRef.name !== BASIC_USER_ROLE);
  const byPlace = Map.groupBy(counted, ({ place }) => placeKey(place));
  return {
    changes: [...changes, ...deletions],
    refusals,
    existingByPlace: new Map([...byPlace].map(([key, { length }]) => [key, length])),
    unchanged,
  };
}

/**
 * Describes the binding by its role and subjects: a user who may write rolebindings there may have changed
 * its annotations.
 */
function staleReason({ roleRef, subjects }: Binding): string {
  const [first = 'nobody', ...others] = subjects.map(({ name }) => name);
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `nothing asks any more for ${roleRef.name} of ${first}${more}`;
}

/** Identifies a namespace or a tenant. */
export function placeKey({ tenant, namespace }: Place): string {
  return `${tenant ?? ''}/${namespace ?? ''}`;
}

/** Identifies an object. */
export function objectKey({ kind, metadata }: KubernetesObject, { tenant, namespace }: Place): string {
  return [kind, tenant ?? '', namespace ?? '', metadata.name].join('/');
}

function existingObjects(cluster: ClusterState): Map<string, { object: KubernetesObject; place: Place }> {
  const located = [
    ...cluster.tenants.map((object) => ({ object, place: {} })),
    ...cluster.places.flatMap(({ tenant, namespaces, clusterRoles, bindings }) =>
      [...namespaces, ...clusterRoles, ...bindings].map((object) => ({
        object,
        place: { ...(tenant !== undefined && { tenant }), ...namespaceOf(object) },
      })),
    ),
  ];
  return new Map(located.map((one) => [objectKey(one.object, one.place), one]));
}

function namespaceOf({ kind, metadata: { namespace } }: KubernetesObject): Place {
  return kind === 'RoleBinding' && namespace !== undefined ? { namespace } : {};
}

type Compared = { readonly changes: readonly Change[] } | { readonly refused: string };

function compare({ object, place, reason }: DesiredObject, existing: KubernetesObject | undefined): Compared {
  if (existing === undefined) return { changes: [{ action: 'create', object, place, reason }] };
  // Their owner is already resolved; they are not changed.
  if (object.kind === 'Namespace' || object.kind === 'Tenant') return { changes: [] };
  if (!isManaged(existing))
    return { refused: 'it is there, but Stonegate did not make it: it is left as it is' };
  if (replaces(object, existing)) {
    return {
      changes: [
        {
          action: 'delete',
          object: existing,
          place,
          reason: 'it names another role, which cannot be changed',
        },
        { action: 'create', object, place, reason },
      ],
    };
  }
  const drifted = withDrift(object, existing);
  return { changes: drifted === undefined ? [] : [{ action: 'update', object: drifted, place, reason }] };
}

function untouchedBy(
  { untouched }: DesiredState,
  { createRoles }: DesiredObjectRules,
): (binding: Binding) => boolean {
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

function isBinding(object: KubernetesObject): object is Binding {
  return object.kind === 'RoleBinding' || object.kind === 'ClusterRoleBinding';
}

function titleOf({ object, place }: DesiredObject): string {
  const { tenant, namespace } = place;
  const path = [tenant, namespace].filter((part) => part !== undefined).join('/');
  return `${object.kind} ${object.metadata.name}${path === '' ? '' : ` in ${path}`}`;
}
