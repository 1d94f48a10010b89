/**
 * The five informers that feed the RBAC index. In Arktos they span all tenants, with the right to list and
 * watch each resource in the system tenant.
 */

import type { InformerStore } from '../../kubernetes/informer-store.ts';
import { Informers, type InformerUpstream } from '../../kubernetes/informers.ts';
import { INDEXED_RESOURCES, type IndexedResource, type StoredObject } from '../../kubernetes/rbac-v1.ts';
import type { Runtime } from '../../lib/runtime.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import { createRBACReader } from '../../rbac/read-rbac-object.ts';

export interface RBACInformersOptions extends Runtime {
  readonly index: RBACIndex;
  /** Whether the API server has tenants (Arktos). */
  readonly inTenants: boolean;
  readonly upstream: InformerUpstream;
}

export function createRBACInformers({ index, inTenants, ...options }: RBACInformersOptions): Informers {
  const informers = new Informers({ ...options, name: 'rbac-index' });
  const reader = createRBACReader({ inTenants });
  for (const resource of INDEXED_RESOURCES)
    informers.add({
      path: pathOf(resource, inTenants),
      read: (object) => reader.read(resource, object),
      store: storeOf(index, resource),
    });
  return informers;
}

/** One resource of the index as a store. */
export function storeOf(index: RBACIndex, resource: IndexedResource): InformerStore<StoredObject> {
  return {
    get isIncomplete() {
      return index.tenantsOff > 0;
    },
    revisionOf: (object) => index.objectsOf(object.tenant).find(object)?.revision,
    beginList: (revision) => index.beginList(resource, revision),
    put: (object) => index.put(object),
    delete: (object) => index.delete(object),
    progress: (revision) => index.progress(resource, revision),
  };
}

function pathOf(resource: IndexedResource, inTenants: boolean): string {
  const prefix = resource === 'namespaces' ? '/api/v1' : '/apis/rbac.authorization.k8s.io/v1';
  return `${prefix}${inTenants ? '/tenants/all' : ''}/${resource}`;
}
