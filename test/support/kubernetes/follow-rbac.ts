/** An RBAC index that follows a real kube-apiserver. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import { INDEXED_RESOURCES, type IndexedResource, type StoredObject } from '../../../src/api/rbac-v1.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import type { Kubernetes } from './api-server.ts';

interface Listed {
  metadata: { name: string; namespace?: string; uid: string; resourceVersion: string };
  rules?: [];
  roleRef: { kind: string; name: string };
  subjects?: { kind: string; name: string; namespace?: string }[];
}

function stored(resource: IndexedResource, { metadata, rules, roleRef, subjects }: Listed): StoredObject {
  const { name, namespace = '', uid, resourceVersion } = metadata;
  const base = { tenant: '', name, uid, revision: Number(resourceVersion) };
  switch (resource) {
    case 'namespaces':
      return { ...base, resource, labels: {}, phase: '', creationTimestamp: '', json: '' };
    case 'roles':
    case 'clusterroles':
      return { ...base, resource, namespace, rules: rules ?? [], labels: {} };
    default: {
      const all = (subjects ?? []).map((subject) => ({ ...subject, namespace: subject.namespace ?? '' }));
      return { ...base, resource, namespace, roleRef, subjects: all };
    }
  }
}

/** By lists, one after another, until the test ends; the server ends after it. */
export async function followRBAC(t: Pick<Test, 'teardown'>, kubernetes: Kubernetes): Promise<RBACIndex> {
  const index = new RBACIndex();
  const list = async () => {
    for (const resource of INDEXED_RESOURCES) {
      const path = resource === 'namespaces' ? '/api/v1' : '/apis/rbac.authorization.k8s.io/v1';
      const reply = await kubernetes.admit('GET', `${path}/${resource}`);
      const { items, metadata }: { items: Listed[]; metadata: { resourceVersion: string } } = JSON.parse(
        reply.body,
      );
      index.replace(
        resource,
        items.map((item) => stored(resource, item)),
        Number(metadata.resourceVersion),
      );
    }
  };
  await list();
  let isOver = false;
  const following = (async () => {
    while (!isOver) {
      await pause(200);
      if (!isOver) await list();
    }
  })();
  t.teardown(async () => {
    isOver = true;
    await following;
  });
  return index;
}
