/** What a change of the index costs the users whose namespaces are cached. */
import t from 'tap';
import { VisibleNamespacesCache } from '../../../../src/access/namespaces/visible-namespaces-cache.ts';
import { INDEXED_RESOURCES } from '../../../../src/api/rbac-v1.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { RBACIndex } from '../../../../src/rbac/rbac-index.ts';
import type { TenantObjects } from '../../../../src/rbac/tenant-objects.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import {
  clusterRole,
  group,
  namespace,
  nextRevision,
  rbacUser,
  roleBinding,
} from '../../../support/rbac-objects.ts';

/** Counts its readings: each decision reads the objects once or twice. */
class CountedIndex extends RBACIndex {
  readings = 0;

  override objectsOf(tenant: string): TenantObjects {
    this.readings += 1;
    return super.objectsOf(tenant);
  }
}

const USERS = 200;

function setUp() {
  const index = new CountedIndex();
  const revision = nextRevision();
  for (const resource of INDEXED_RESOURCES) index.replace(resource, [], revision);
  index.put(clusterRole('view', [{ verbs: ['get'], apiGroups: [''], resources: ['namespaces'] }]));
  for (const name of ['a', 'b']) index.put(namespace(name));
  const cache = new VisibleNamespacesCache({ index, clock: createFakeClock() });
  const subjects = Array.from({ length: USERS }, (_, at) =>
    uniformSubject(rbacUser(`u${at}`, ['system:authenticated'])),
  );
  const views = subjects.map((subject) => cache.viewOf(subject, ''));
  const binding = roleBinding('a', 'all', 'ClusterRole/view', [group('system:authenticated')]);
  return { index, views, binding, cache };
}

t.test('a change that concerns all users is evaluated for each of them at the next use', async (t) => {
  const { index, views, binding } = setUp();
  const [view] = views;
  const before = index.readings;
  index.put({ ...binding, revision: nextRevision() });
  index.put(namespace('c'));
  t.ok(index.readings - before < USERS / 10, `${index.readings - before} readings`);
  t.same(view?.names, ['a']);
  for (const { names } of views) t.same(names, ['a']);
  const { generation } = view ?? {};
  index.delete({ ...binding, revision: nextRevision() });
  t.not(view?.generation, generation, 'the access is another');
  t.equal(view?.get('a'), undefined);
  t.equal(view?.hasSeen('a'), true);
});

t.test('an open watch is told at once', async (t) => {
  const { index, views, binding, cache } = setUp();
  const told: string[] = [];
  index.put({ ...binding, revision: nextRevision() });
  const [view] = views;
  if (view === undefined) throw new Error('no view');
  cache.hold(view, 0, () => {});
  view.subscribe({
    changed: ({ type, namespace: { name } }) => told.push(`${type} ${name}`),
    decided() {},
  });
  t.same(told, [], 'it begins with what was granted before');
  index.delete({ ...binding, revision: nextRevision() });
  t.same(told, ['DELETED a']);
});

t.test('many changes are evaluated together', async (t) => {
  const { index, views, binding } = setUp();
  const names = Array.from({ length: 100 }, (_, at) => `n${100 + at}`);
  for (const name of names) {
    index.put(namespace(name));
    index.put({ ...binding, namespace: name, uid: `all-${name}`, revision: nextRevision() });
  }
  const before = index.readings;
  t.same(views[0]?.names, names);
  t.ok(index.readings - before <= 2 * names.length);
  for (const name of names.slice(0, 50)) index.delete({ ...namespace(name), revision: nextRevision() });
  t.same(views[0]?.names, names.slice(50));
});
