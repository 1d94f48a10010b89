/** What a change of the index costs the users whose namespaces are cached. */
import t from 'tap';
import type { VisibleNamespaces } from '../../../../src/access/namespaces/visible-namespaces.ts';
import {
  VisibleNamespacesCache,
  type VisibleNamespacesCacheOptions,
} from '../../../../src/access/namespaces/visible-namespaces-cache.ts';
import { INDEXED_RESOURCES } from '../../../../src/api/rbac-v1.ts';
import { TurnQueue } from '../../../../src/lib/turn-queue.ts';
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

function setUp(options: Partial<VisibleNamespacesCacheOptions> = {}) {
  const index = new CountedIndex();
  const revision = nextRevision();
  for (const resource of INDEXED_RESOURCES) index.replace(resource, [], revision);
  index.put(clusterRole('view', [{ verbs: ['get'], apiGroups: [''], resources: ['namespaces'] }]));
  for (const name of ['a', 'b']) index.put(namespace(name));
  const cache = new VisibleNamespacesCache({ index, clock: createFakeClock(), ...options });
  const subjects = Array.from({ length: USERS }, (_, at) =>
    uniformSubject(rbacUser(`u${at}`, ['keystone:group:staff'])),
  );
  const views = subjects.map((subject) => cache.viewOf(subject, ''));
  const binding = roleBinding('a', 'all', 'ClusterRole/view', [group('keystone:group:staff')]);
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

t.test('a change that concerns all watches is decided for a part of them in each turn', async (t) => {
  const turns: (() => void)[] = [];
  const decisions = new TurnQueue<VisibleNamespaces>({
    stepsPerTurn: 10,
    run: (view) => view.decide(),
    nextTurn: (action) => turns.push(action),
  });
  const { index, views, binding, cache } = setUp({ decisions });
  for (const view of views) cache.hold(view, 0, () => {});
  const known = () => views.filter((view) => view.told('a') !== undefined).length;
  index.put({ ...binding, revision: nextRevision() });
  const revision = nextRevision();
  for (const resource of INDEXED_RESOURCES) index.progress(resource, revision);
  t.equal(known(), 10);
  const isDue = views.find((view) => view.isDue);
  t.ok((isDue?.revision ?? 0) < (views[0]?.revision ?? 0), 'who is not told yet has no bookmark of it');
  turns.shift()?.();
  t.equal(known(), 20);
  const [, , last] = views.slice(-3);
  t.same(last?.names, ['a'], 'a request does not wait');
  while (turns.length > 0) turns.shift()?.();
  t.equal(known(), USERS);
  t.notOk(views.some((view) => view.isDue));
});

t.test('a tenant with many watches does not delay the watch of another', async (t) => {
  const turns: (() => void)[] = [];
  const decided: string[] = [];
  const decisions = new TurnQueue<VisibleNamespaces>({
    stepsPerTurn: 2,
    run(view) {
      decided.push(view.account);
      return view.decide();
    },
    nextTurn: (action) => turns.push(action),
  });
  const { index, views, binding, cache } = setUp({ decisions });
  const small = cache.viewOf(
    uniformSubject({ ...rbacUser('s', ['keystone:group:staff']), home: 'small' }),
    '',
  );
  for (const view of [...views, small]) cache.hold(view, 0, () => {});
  index.put({ ...binding, revision: nextRevision() });
  turns.shift()?.();
  turns.shift()?.();
  t.ok(decided.slice(0, 6).includes('small'));
});
