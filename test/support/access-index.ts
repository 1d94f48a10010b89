/** An RBAC index as features use it, built from objects; the test sets its state. */

import { INDEXED_RESOURCES, type IndexedResource, type StoredObject } from '../../src/kubernetes/rbac-v1.ts';
import { AccessIndex, STALE_AFTER } from '../../src/rbac/access-index.ts';
import { RBACIndex } from '../../src/rbac/rbac-index.ts';
import { createFakeClock } from './fake-clock.ts';
import { indexOf, listInto, nextRevision } from './rbac-objects.ts';

export type AccessIndexSite = ReturnType<typeof siteOf>;

/** An index that is synced and current. */
export function accessIndexOf(...objects: readonly StoredObject[]): AccessIndexSite {
  return siteOf(indexOf(...objects));
}

/** A synced index whose size is limited to `maxBytes`. */
export function boundedAccessIndexOf(maxBytes: number, ...objects: readonly StoredObject[]): AccessIndexSite {
  const index = new RBACIndex({ maxBytes });
  listInto(index, objects);
  return siteOf(index);
}

/** An index that has listed no resource yet. */
export function unsyncedAccessIndex(): AccessIndexSite {
  return siteOf(new RBACIndex());
}

function siteOf(index: RBACIndex) {
  const clock = createFakeClock();
  const provenAt = new Map<IndexedResource, number>();
  const access = new AccessIndex({ index, provenAt: (resource) => provenAt.get(resource), clock });
  /** Marks resources as complete at the current time. */
  const prove = (resources: readonly IndexedResource[] = INDEXED_RESOURCES) => {
    for (const resource of resources) provenAt.set(resource, clock.now());
  };
  const progress = (revision: number) => {
    for (const resource of INDEXED_RESOURCES) index.progress(resource, revision);
    prove();
  };
  if (index.isSynced) prove();
  return {
    access,
    index,
    clock,
    prove,
    /** Adds or changes an object, as a watch event with a new revision. All resources progress to it. */
    put<T extends StoredObject>(object: T): T {
      const changed = { ...object, revision: nextRevision() };
      index.put(changed);
      progress(changed.revision);
      return changed;
    },
    delete(object: StoredObject) {
      const revision = nextRevision();
      index.delete({ ...object, revision });
      progress(revision);
    },
    /** Lets so much time pass without news from the API server that the index is stale. */
    becomeStale: () => clock.advance(STALE_AFTER + 1),
  };
}
