/** An RBAC index as the features see it, made from objects; its state is set by the test. */

import { INDEXED_RESOURCES, type IndexedResource, type StoredObject } from '../../src/kubernetes/rbac-v1.ts';
import { AccessIndex, STALE_AFTER } from '../../src/rbac/access-index.ts';
import { RBACIndex } from '../../src/rbac/rbac-index.ts';
import { createFakeClock } from './fake-clock.ts';
import { indexOf, listInto, nextRevision } from './rbac-objects.ts';

export type AccessIndexSite = ReturnType<typeof siteOf>;

/** Synced and current. */
export function accessIndexOf(...objects: readonly StoredObject[]): AccessIndexSite {
  return siteOf(indexOf(...objects));
}

/** The same, with a bound in bytes. */
export function boundedAccessIndexOf(maxBytes: number, ...objects: readonly StoredObject[]): AccessIndexSite {
  const index = new RBACIndex({ maxBytes });
  listInto(index, objects);
  return siteOf(index);
}

/** No resource has been listed. */
export function unsyncedAccessIndex(): AccessIndexSite {
  return siteOf(new RBACIndex());
}

function siteOf(index: RBACIndex) {
  const clock = createFakeClock();
  const provenAt = new Map<IndexedResource, number>();
  const access = new AccessIndex({ index, provenAt: (resource) => provenAt.get(resource), clock });
  /** Resources are known to be complete now. */
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
    /** Nothing is heard of the API server for too long. */
    becomeStale: () => clock.advance(STALE_AFTER + 1),
  };
}
