/**
 * Writes one change to the API server, which may have changed since the plan was computed. On a conflict the
 * object is read and compared again, a few times; an object of another client is then left as it is.
 */
import type { Objects } from './objects.ts';
import type { Change, Comparison, Deletion, Write } from './plan.ts';

/** The object is another client's, or keeps changing. */
export class Conflict extends Error {}

const ATTEMPTS = 3;
const CHANGING = 'another client keeps changing it';

/**
 * @throws Conflict
 * @throws StatusError as `Objects` does
 */
export async function writeChange(objects: Objects, change: Change, signal: AbortSignal): Promise<void> {
  if (change.action === 'delete') return remove(objects, change, signal);
  if (await attempt(objects, change, change, signal)) return;
  const { desired, kind, place, object } = change;
  for (let count = 0; count < ATTEMPTS; count += 1) {
    const found = desired.compare(await objects.get(kind, place, object.metadata.name, signal));
    if ('refused' in found) throw new Conflict(found.refused);
    if (found.action === 'none' || (await attempt(objects, change, found, signal))) return;
  }
  throw new Conflict(CHANGING);
}

type Writing = Extract<Comparison, { readonly object: unknown }>;

/** @returns whether the object is as desired now */
async function attempt(
  objects: Objects,
  { kind, place }: Write,
  writing: Writing,
  signal: AbortSignal,
): Promise<boolean> {
  const { action, object } = writing;
  if (action === 'update' && writing.replaces === undefined)
    return (await objects.update(kind, place, object, signal)) === 'updated';
  if (action === 'update' && writing.replaces !== undefined)
    if ((await objects.delete(kind, place, writing.replaces, signal)) === 'conflict') return false;
  return (await objects.create(kind, place, object, signal)) === 'created';
}

async function remove(
  objects: Objects,
  { kind, place, object, isOwned }: Deletion,
  signal: AbortSignal,
): Promise<void> {
  let current = object;
  for (let count = 0; count < ATTEMPTS; count += 1) {
    if ((await objects.delete(kind, place, current, signal)) !== 'conflict') return;
    const found = await objects.get(kind, place, object.metadata.name, signal);
    if (found === undefined) return;
    if (!isOwned(found)) throw new Conflict('another client has taken it over meanwhile');
    current = found;
  }
  throw new Conflict(CHANGING);
}

/** Deletes a written object, if it is still as it was written. */
export async function revert(
  objects: Objects,
  { kind, place, object, desired }: Write,
  signal: AbortSignal,
): Promise<void> {
  const current = await objects.get(kind, place, object.metadata.name, signal);
  const found = desired.compare(current);
  if (current !== undefined && 'action' in found && found.action === 'none')
    await objects.delete(kind, place, current, signal);
}
