/**
 * One change at the API server, which may have moved on since the plan was made: who changed an object meanwhile is
 * read and taken into account, a few times; what turns out to be somebody else's is left alone.
 */
import type { KubernetesObject } from '../api/kubernetes-object.ts';
import type { ClusterObjects, ObjectReference, Place } from './cluster-objects.ts';
import { isOurs, ownerLabels } from './managed-object.ts';
import type { Change } from './plan.ts';
import { replaces, withDrift } from './same-object.ts';

/** Somebody else's object stands where ours should, or nothing holds still. */
export class NotOurs extends Error {}

const ATTEMPTS = 3;

/**
 * @throws NotOurs
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
    if (await bring(objects, object, place, signal)) return;
  }
  throw new NotOurs('somebody else changes it all the time');
}

/** @returns whether it is now as it should be */
async function bring(
  objects: ClusterObjects,
  wanted: KubernetesObject,
  place: Place,
  signal: AbortSignal,
): Promise<boolean> {
  const existing = await objects.get(referenceTo(wanted, place), signal);
  if (existing === undefined) return (await objects.create(asNew(wanted), place, signal)) === 'created';
  if (!isOurs(existing)) throw new NotOurs('somebody else has made it meanwhile');
  if (existing.kind === 'Namespace' || existing.kind === 'Tenant') {
    if (sameOwner(existing, wanted)) return true;
    throw new NotOurs('it has been made for another project or domain meanwhile');
  }
  if (replaces(wanted, existing)) {
    await objects.delete(existing, place, signal);
    return false;
  }
  const drifted = withDrift(wanted, existing);
  return drifted === undefined || (await objects.update(drifted, place, signal)) === 'updated';
}

/** Takes back what was written, if it is still there and still ours. */
export async function takeBack(
  objects: ClusterObjects,
  { object, place }: Change,
  signal: AbortSignal,
): Promise<void> {
  const current = await objects.get(referenceTo(object, place), signal);
  if (current !== undefined && isOurs(current)) await remove(objects, current, place, signal);
}

async function remove(
  objects: ClusterObjects,
  object: KubernetesObject,
  place: Place,
  signal: AbortSignal,
): Promise<void> {
  let current: KubernetesObject | undefined = object;
  for (let attempt = 0; attempt < ATTEMPTS && current !== undefined; attempt += 1) {
    if (!isOurs(current)) throw new NotOurs('somebody else has taken it over meanwhile');
    if ((await objects.delete(current, place, signal)) !== 'conflict') return;
    current = await objects.get(referenceTo(object, place), signal);
  }
  if (current !== undefined) throw new NotOurs('somebody else changes it all the time');
}

function sameOwner(existing: KubernetesObject, wanted: KubernetesObject): boolean {
  const [one, other] = [ownerLabels(existing.metadata), ownerLabels(wanted.metadata)];
  return one.projectID === other.projectID && one.domainID === other.domainID;
}

function referenceTo({ kind, metadata }: KubernetesObject, place: Place): ObjectReference {
  return { kind, name: metadata.name, ...place };
}

/** Without what the API server gave to one that is gone. */
function asNew(object: KubernetesObject): KubernetesObject {
  const { uid: _uid, resourceVersion: _version, ...metadata } = object.metadata;
  return { ...object, metadata };
}
