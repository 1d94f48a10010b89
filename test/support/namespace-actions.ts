/** Random changes of namespaces and of the rights of a user, and replicas that receive them. */
import fc from 'fast-check';
import { INDEXED_RESOURCES, type StoredObject } from '../../src/kubernetes/rbac-v1.ts';
import { unsyncedAccessIndex } from './access-index.ts';
import { type NamespacesSite, namespacesMemory, namespacesSiteOf } from './namespaces-site.ts';
import { rule } from './policy-rule.ts';
import {
  clusterRole,
  clusterRoleBinding,
  namespace,
  nextRevision,
  roleBinding,
  user,
} from './rbac-objects.ts';

const PLACES = ['a', 'b', 'c', 'd'] as const;
const VIEWER = clusterRole('viewer', [rule('get', 'namespaces')]);
const NAMED = clusterRole('named', [{ ...rule('get', 'namespaces'), resourceNames: ['a', 'c'] }]);
const ALICE = [user('acme:alice')];

const place = fc.constantFrom(...PLACES);
export const action = fc.oneof(
  fc.record({ kind: fc.constant('namespace' as const), place, env: fc.constantFrom('prod', 'test') }),
  fc.record({ kind: fc.constant('no namespace' as const), place }),
  fc.record({ kind: fc.constant('grant' as const), place }),
  fc.record({ kind: fc.constant('revoke' as const), place }),
  fc.record({ kind: fc.constant('grant names' as const) }),
  fc.record({ kind: fc.constant('revoke names' as const) }),
);
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

export interface Event {
  readonly type: 'put' | 'delete';
  readonly object: StoredObject;
}

/** The events that result from the actions, each with a higher revision. */
export function eventsOf(actions: readonly Action[]): Event[] {
  const there = new Map<string, StoredObject>();
  return actions.flatMap((one): Event[] => {
    const object = objectOf(one);
    const key = `${object.resource}/${'namespace' in object ? object.namespace : ''}/${object.name}`;
    const known = there.get(key);
    const revision = nextRevision();
    if (one.kind === 'namespace' || one.kind === 'grant' || one.kind === 'grant names') {
      const stored = { ...object, uid: known?.uid ?? object.uid, revision };
      there.set(key, stored);
      return [{ type: 'put', object: stored }];
    }
    if (known === undefined) return [];
    there.delete(key);
    return [{ type: 'delete', object: { ...known, revision } }];
  });
}

function objectOf(one: Action): StoredObject {
  switch (one.kind) {
    case 'namespace':
      return namespace(one.place, { labels: { env: one.env } });
    case 'no namespace':
      return namespace(one.place);
    case 'grant':
    case 'revoke':
      return roleBinding(one.place, 'view', 'ClusterRole/viewer', ALICE);
    default:
      return clusterRoleBinding('named', 'ClusterRole/named', ALICE);
  }
}

const FIRST = nextRevision();

/**
 * A replica that has received no events yet.
 *
 * @param nextTurn schedules the decisions for watches
 */
export function replica(nextTurn?: (action: () => void) => void): NamespacesSite {
  const site = unsyncedAccessIndex();
  for (const resource of INDEXED_RESOURCES)
    site.index.replace(resource, resource === 'clusterroles' ? [VIEWER, NAMED] : [], FIRST);
  return namespacesSiteOf(site, { memory: namespacesMemory(site, nextTurn) });
}

export function see({ index }: NamespacesSite, { type, object }: Event) {
  if (type === 'put') index.put(object);
  else index.delete(object);
}
