/** How the index follows lists and watches, and which changes it reports. */
import t from 'tap';
import { uniformSubject } from '../../../src/rbac/attributes.ts';
import type { Change } from '../../../src/rbac/change.ts';
import { namespacesAllowed, visibleNamespaces } from '../../../src/rbac/enumerate.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import {
  clusterRole,
  indexOf,
  namespace,
  nextRevision,
  rbacUser,
  role,
  roleBinding,
  user,
} from '../../support/rbac-objects.ts';

const GET_NAMESPACES = { verbs: ['get'], apiGroups: [''], resources: ['namespaces'] };
const alice = rbacUser('alice');

function visible(index: RBACIndex, who = alice) {
  return namespacesAllowed(index, uniformSubject(who), visibleNamespaces(''));
}

function changesOf(index: RBACIndex) {
  const changes: Change[] = [];
  index.subscribe({ changed: (change) => changes.push(change) });
  return changes;
}

t.test('a binding, its role and its namespace may arrive in any order', async (t) => {
  const index = indexOf();
  const changes = changesOf(index);
  index.put(roleBinding('a', 'x', 'ClusterRole/view', [user('alice')]));
  t.strictSame(visible(index), []);
  index.put(clusterRole('view', [GET_NAMESPACES]));
  t.strictSame(visible(index), []);
  index.put(namespace('a'));
  t.strictSame(visible(index), ['a']);
  t.match(changes, [
    { kind: 'access', subjects: new Set(['user:alice']), namespaces: new Set(['a']) },
    { kind: 'access', subjects: new Set(['user:alice']), namespaces: new Set(['a']) },
    { kind: 'namespace', type: 'ADDED', namespace: { name: 'a' } },
  ]);
});

t.test('D122: a changed role is reported only for its subjects', async (t) => {
  const index = indexOf(
    role('a', 'r', [GET_NAMESPACES]),
    roleBinding('a', 'x', 'Role/r', [user('alice')]),
    roleBinding('b', 'x', 'Role/r', [user('bob')]),
    roleBinding('a', 'y', 'ClusterRole/r', [user('carol')]),
  );
  const changes = changesOf(index);
  index.put({ ...role('a', 'r', []), uid: index.objectsOf('').role('a', 'r')?.uid ?? '' });
  t.match(changes, [{ subjects: new Set(['user:alice']), namespaces: new Set(['a']) }]);
  t.equal(changes.length, 1);
});

t.test('a list after a gap reports the differences, including deletions', async (t) => {
  const view = clusterRole('view', [GET_NAMESPACES]);
  const bindings = ['alice', 'bob'].map((name) => roleBinding('a', name, 'ClusterRole/view', [user(name)]));
  const index = indexOf(namespace('a'), view, ...bindings);
  const changes = changesOf(index);
  const added = roleBinding('a', 'carol', 'ClusterRole/view', [user('carol')]);
  const revision = nextRevision();
  index.replace('rolebindings', [...bindings.slice(1), added], revision);
  t.match(changes, [
    { subjects: new Set(['user:carol']), revision: added.revision },
    { subjects: new Set(['user:alice']), revision },
  ]);
  t.strictSame(visible(index), []);
  t.strictSame(visible(index, rbacUser('bob')), ['a']);
});

t.test('the revision is the lowest through which all five resources are complete', async (t) => {
  const index = new RBACIndex();
  const progress: number[] = [];
  index.subscribe({ progressed: (revision) => progress.push(revision) });
  for (const resource of ['namespaces', 'roles', 'clusterroles', 'rolebindings'] as const)
    index.replace(resource, [], 10);
  t.notOk(index.isSynced);
  index.replace('clusterrolebindings', [], 12);
  t.ok(index.isSynced);
  t.equal(index.revision, 10);
  for (const resource of ['namespaces', 'roles', 'clusterroles'] as const) index.progress(resource, 20);
  t.equal(index.revision, 10);
  index.progress('rolebindings', 15);
  t.equal(index.revision, 12);
  index.progress('rolebindings', 9);
  t.equal(index.revision, 12);
  t.strictSame(progress, [10, 12]);
});

t.test('a changed binding is reported only for subjects that were added or removed', async (t) => {
  const binding = roleBinding('a', 'x', 'ClusterRole/view', [user('alice'), user('bob')]);
  const index = indexOf(clusterRole('view', [GET_NAMESPACES]), binding);
  const changes = changesOf(index);
  const change = (...names: string[]) =>
    index.put({ ...binding, subjects: names.map(user), revision: nextRevision() });
  change('bob', 'carol');
  change('carol', 'bob');
  t.match(changes, [{ subjects: new Set(['user:alice', 'user:carol']) }]);
  t.equal(changes.length, 1);
});

t.test('after a restore from a backup, the list replaces newer objects', async (t) => {
  const binding = roleBinding('a', 'x', 'ClusterRole/view', [user('alice')]);
  const index = indexOf(namespace('a'), clusterRole('view', [GET_NAMESPACES]), binding);
  const before = index.revision;
  const restored: number[] = [];
  index.subscribe({ restored: (revision) => restored.push(revision) });
  const newer = { ...binding, subjects: [user('bob')], revision: nextRevision() };
  index.put(newer);
  index.put(roleBinding('a', 'y', 'ClusterRole/view', [user('carol')]));
  t.strictSame(visible(index, rbacUser('bob')), ['a']);
  index.replace('rolebindings', [binding], before);
  t.strictSame(visible(index), ['a']);
  t.strictSame(visible(index, rbacUser('bob')), []);
  t.strictSame(visible(index, rbacUser('carol')), []);
  t.equal(index.revision, before);
  t.strictSame(restored, [before]);
  index.put({ ...newer, revision: before + 1 });
  t.strictSame(visible(index, rbacUser('bob')), ['a']);
});

t.test('a list takes effect when it is complete', async (t) => {
  const index = indexOf(namespace('old'));
  const before = index.revision;
  const revision = nextRevision();
  const list = index.beginList('namespaces', revision);
  for (const page of ['a', 'b']) list.take([namespace(`${page}1`), namespace(`${page}2`)]);
  t.equal(index.revisionOf('namespaces'), before, 'the list is not complete yet');
  t.equal(index.countOf('namespaces'), 5, 'objects that no page contains are not removed yet');
  list.end();
  t.equal(index.revisionOf('namespaces'), revision);
  t.equal(index.countOf('namespaces'), 4);
  t.equal(index.countOf('roles'), 0);
});

t.test('after a restore, an object with the same revision may have changed', async (t) => {
  const index = indexOf(namespace('a'), clusterRole('view', [GET_NAMESPACES]));
  const binding = roleBinding('a', 'x', 'ClusterRole/view', [user('alice')]);
  index.put(binding);
  index.progress('rolebindings', nextRevision());
  index.replace('rolebindings', [{ ...binding, subjects: [user('bob')] }], binding.revision);
  t.strictSame(visible(index), []);
  t.strictSame(visible(index, rbacUser('bob')), ['a']);
});
