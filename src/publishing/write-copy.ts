/**
 * Applies one change at the API server, which may have changed since the plan was computed. On a conflict the
 * object is read and compared again, a few times; what is no copy is then left as it is.
 */
import { hasManagedLabel } from '../api/managed-labels.ts';
import { PUBLISHED_FROM } from '../api/published-objects.ts';
import { compareCopy } from './copy.ts';
import { NAMESPACES, type PublishingChange } from './plan.ts';
import type { PublishedObject, PublishedObjects } from './ports.ts';

/** The object is another client's, or keeps changing. */
export class CopyConflict extends Error {}

const ATTEMPTS = 3;
const CHANGING = 'another client changes it at the same time';

/**
 * @throws CopyConflict
 * @throws StatusError as `PublishedObjects` does
 */
export async function writeCopy(
  objects: PublishedObjects,
  change: PublishingChange,
  signal: AbortSignal,
): Promise<void> {
  if (change.action === 'delete') return remove(objects, change, signal);
  const { kind, place, object, copy } = change;
  if (copy === undefined) {
    // A namespace: it does not matter which client has created it.
    await objects.create(kind, place, object, signal);
    return;
  }
  if (await attempt(objects, change, signal)) return;
  const { name } = object.metadata;
  for (let count = 0; count < ATTEMPTS; count += 1) {
    const found = compareCopy(copy, await objects.get(kind, place, name, signal));
    if ('conflict' in found) throw new CopyConflict(found.conflict);
    if (found.action === 'none' || (await attempt(objects, { ...change, ...found }, signal))) return;
  }
  throw new CopyConflict(CHANGING);
}

/** @returns whether the object is as desired now */
async function attempt(
  objects: PublishedObjects,
  { action, kind, place, object, existing }: PublishingChange,
  signal: AbortSignal,
): Promise<boolean> {
  if (action === 'update') return (await objects.update(kind, place, object, signal)) === 'updated';
  if (action === 'replace' && existing !== undefined)
    if ((await objects.delete(kind, place, existing, signal)) === 'conflict') return false;
  return (await objects.create(kind, place, object, signal)) === 'created';
}

async function remove(
  objects: PublishedObjects,
  { kind, place, object }: PublishingChange,
  signal: AbortSignal,
): Promise<void> {
  let current: PublishedObject | undefined = object;
  for (let count = 0; count < ATTEMPTS && current !== undefined; count += 1) {
    if ((await objects.delete(kind, place, current, signal)) !== 'conflict') return;
    current = await objects.get(kind, place, object.metadata.name, signal);
    if (current !== undefined && !isStillThatCopy(current, object)) return;
  }
  if (current !== undefined) throw new CopyConflict(CHANGING);
}

/** Not another object of that name, nor one that lost a mark. */
function isStillThatCopy(current: PublishedObject, { metadata }: PublishedObject): boolean {
  const { uid, labels } = current.metadata;
  return (
    uid === metadata.uid &&
    hasManagedLabel(current.metadata) &&
    labels?.[PUBLISHED_FROM] === metadata.labels?.[PUBLISHED_FROM]
  );
}

/** Whether the change makes a namespace that later changes need. */
export function isNamespace({ kind }: PublishingChange): boolean {
  return kind === NAMESPACES;
}
