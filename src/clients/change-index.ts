/**
 * Changes the RBAC index by an event of a watch, if the event comes in its order.
 */
import type { StoredObject } from '../api/rbac-v1.ts';
import type { RBACIndex } from '../rbac/rbac-index.ts';
import { ListNeeded } from './list-watch-failure.ts';

/**
 * @returns false for an event of a past revision that tells nothing new
 * @throws ListNeeded if one does: then the watch has left something out
 */
export function changeIndex(index: RBACIndex, kind: 'put' | 'delete', object: StoredObject): boolean {
  if (object.revision <= (index.revisionOf(object.resource) ?? 0)) {
    if (!isRepeated(index, kind, object)) throw new ListNeeded('disorder');
    return false;
  }
  if (kind === 'put') index.put(object);
  else index.delete(object);
  return true;
}

function isRepeated(index: RBACIndex, kind: 'put' | 'delete', object: StoredObject): boolean {
  const known = index.objectsOf(object.tenant).find(object);
  if (kind === 'delete') return known === undefined || known.revision > object.revision;
  return known !== undefined && known.revision >= object.revision;
}
