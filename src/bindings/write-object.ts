/**
 * Applies one change to the API server, which may have changed since the plan was computed. On a conflict
 * the object is read and compared again, a few times. An object that Stonegate did not create is left as it
 * is.
 */

import { BASIC_USER_ROLE } from '../api/cluster-roles.ts';
import type { KubernetesObject, Namespace, Tenant } from '../api/kubernetes-object.ts';
import { replaces, withDrift } from '../lib/object-drift.ts';
import { isManaged, ownerLabels } from './managed-object.ts';
import type { Change } from './plan.ts';
import type { ClusterObjects, KubernetesObjectReference, Place } from './ports.ts';

/** The existing object is not Stonegate's, or keeps changing. */
export class OwnershipConflict extends Error {}

const ATTEMPTS = 3;

/**
 * @throws OwnershipConflict
 * @throws StatusError as `ClusterObjects` does
 */
export async function writeObject(
  objects: ClusterObjects,
  change: Change,
  signal: AbortSignal,
): Promise<void> {
  const { action, object, place } = change;
  if (action === 'delete') return remove(objects, object, place, signal);
  const outcome =
    action === 'create'
      ? await objects.create(object, place, signal)
      : await objects.update(object, place, signal);
  if (outcome === 'created' || outcome === 'updated') return;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (await reconcile(objects, object, place, signal)) return;
  }
  throw new OwnershipConflict('another client keeps changing it');
}

/** @returns whether the object now matches */
async function reconcile(
  objects: ClusterObjects,
  wanted: KubernetesObject,
  place: Place,
  signal: AbortSignal,
): Promise<boolean> {
  const existing = await objects.get(referenceTo(wanted, place), signal);
  if (existing === undefined) return (await objects.create(asNew(wanted), place, signal)) === 'created';
  if (!isManaged(existing)) throw new OwnershipConflict('another client has created it meanwhile');
  if (existing.kind === 'Namespace' || existing.kind === 'Tenant') {
    if (sameOwner(existing, wanted)) return true;
    throw new OwnershipConflict('it has been made for another project or domain meanwhile');
  }
  if (replaces(wanted, existing)) {
    await objects.delete(existing, place, signal);
    return false;
  }
  const drifted = withDrift(wanted, existing);
  return drifted === undefined || (await objects.update(drifted, place, signal)) === 'updated';
}

/** Deletes a written object, if it still exists and is still managed. */
export async function revert(
  objects: ClusterObjects,
  { object, place }: Change,
  signal: AbortSignal,
): Promise<void> {
  const current = await objects.get(referenceTo(object, place), signal);
  if (current !== undefined && isManaged(current)) await remove(objects, current, place, signal);
}

async function remove(
  objects: ClusterObjects,
  object: KubernetesObject,
  place: Place,
  signal: AbortSignal,
): Promise<void> {
  let current: KubernetesObject | undefined = object;
  for (let attempt = 0; attempt < ATTEMPTS && current !== undefined; attempt += 1) {
    if (!isManaged(current)) throw new OwnershipConflict('another client has taken it over meanwhile');
    if ((await objects.delete(current, place, signal)) !== 'conflict') return;
    current = await objects.get(referenceTo(object, place), signal);
  }
  if (current !== undefined) throw new OwnershipConflict('another client keeps changing it');
}

function sameOwner(existing: KubernetesObject, wanted: KubernetesObject): boolean {
  const [one, other] = [ownerLabels(existing.metadata), ownerLabels(wanted.metadata)];
  return one.projectID === other.projectID && one.domainID === other.domainID;
}

function referenceTo({ kind, metadata }: KubernetesObject, place: Place): KubernetesObjectReference {
  return { kind, name: metadata.name, ...place };
}

/** Without the metadata of the deleted object. */
function asNew(object: KubernetesObject): KubernetesObject {
  const { uid: _uid, resourceVersion: _version, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** What a binding applies to: a namespace, or a whole tenant. */
export type BindingTarget = Namespace | Tenant;

/** @returns undefined if there is none */
export async function getBindingTarget(
  objects: ClusterObjects,
  { tenant, namespace }: Place,
  signal: AbortSignal,
): Promise<BindingTarget | undefined> {
  const found =
    namespace === undefined
      ? tenant === undefined
        ? undefined
        : await objects.get({ kind: 'Tenant', name: tenant }, signal)
      : await objects.get(
          { kind: 'Namespace', name: namespace, ...(tenant !== undefined && { tenant }) },
          signal,
        );
  return found?.kind === 'Namespace' || found?.kind === 'Tenant' ? found : undefined;
}

/**
 * Checks that the target is still the one that Stonegate created for this project or domain.
 *
 * @returns why the binding must not be written; undefined if it may be
 */
export function bindingTargetProblem(
  target: BindingTarget | undefined,
  binding: KubernetesObject,
): string | undefined {
  if (target === undefined) return 'there is nothing that Stonegate made to bind it in';
  const { metadata, kind } = target;
  if (metadata.deletionTimestamp !== undefined) return `${nameOf(target)} is being deleted`;
  // All users of every tenant may create self access reviews.
  if (kind === 'Tenant' && 'roleRef' in binding && binding.roleRef.name === BASIC_USER_ROLE) return undefined;
  const [its, wanted] = [ownerLabels(metadata), ownerLabels(binding.metadata)];
  const same =
    kind === 'Namespace'
      ? its.projectID !== undefined && its.projectID === wanted.projectID
      : its.domainID !== undefined && its.domainID === wanted.domainID;
  return isManaged(target) && same ? undefined : `${nameOf(target)} was not made by Stonegate for it`;
}

function nameOf({ kind, metadata }: BindingTarget): string {
  return `the ${kind.toLowerCase()} ${metadata.name}`;
}
