/** What the names that watches and lists of namespaces hold may take of each tenant. */
import t from 'tap';
import { HeldViews } from '../../../../src/access/namespaces/held-views.ts';
import { IdleViews } from '../../../../src/access/namespaces/idle-views.ts';
import { VisibleNamespaces } from '../../../../src/access/namespaces/visible-namespaces.ts';
import { VisibleNamespacesCache } from '../../../../src/access/namespaces/visible-namespaces-cache.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  namespace,
  nextRevision,
  rbacUser,
} from '../../../support/rbac-objects.ts';

const VIEW = clusterRole('view', [{ verbs: ['get'], apiGroups: [''], resources: ['namespaces'] }]);
const NAMES = Array.from({ length: 100 }, (_, at) => namespace(`ns-${100 + at}`));

function site() {
  const binding = clusterRoleBinding('all', 'ClusterRole/view', [group('staff')]);
  const { index, clock } = accessIndexOf(VIEW, binding, ...NAMES);
  const subjectOf = (name: string, home: string) =>
    uniformSubject({ ...rbacUser(`${home}:${name}`, ['staff']), home });
  return { index, clock, subjectOf };
}

t.test('a watch counts against its tenant until it ends, each user once', async (t) => {
  const { index, subjectOf } = site();
  const held = new HeldViews({ total: 1_000_000, perKey: 20_000 });
  const views = ['u1', 'u2', 'u3'].map((name) => new VisibleNamespaces(index, subjectOf(name, 'acme'), ''));
  const [one, two, three] = views;
  if (one === undefined || two === undefined || three === undefined) throw new Error('no views');
  const first = held.hold(one, 0, () => {});
  const { bytes } = held;
  t.ok(bytes >= 100 * 60, 'the names have their size');
  const again = held.hold(one, 0, () => {});
  t.equal(held.bytes, bytes, 'another watch of the user takes no more');
  held.hold(two, 0, () => {});
  t.equal(held.hasRoomFor(three, 0), false);
  t.equal(
    held.hold(three, 0, () => {}),
    undefined,
  );
  t.equal(held.has(three), false);
  const other = new VisibleNamespaces(index, subjectOf('u1', 'other'), '');
  t.ok(
    held.hold(other, 0, () => {}),
    'another tenant has room',
  );
  first?.();
  first?.();
  t.equal(held.has(one), true, 'its other watch is open');
  again?.();
  t.equal(held.has(one), false);
  t.ok(held.hold(three, 0, () => {}));
});

t.test('a watch whose names must be confirmed counts what it holds itself', async (t) => {
  const { index, subjectOf } = site();
  const held = new HeldViews({ total: 1_000_000, perKey: 1_000_000 });
  const view = new VisibleNamespaces(index, subjectOf('u1', 'acme'), '');
  held.hold(view, 400, () => {});
  const { bytes } = held;
  held.hold(view, 400, () => {});
  t.equal(held.bytes, bytes + 100 * 400);
});

t.test('a watch for whose further names there is no room is told to end', async (t) => {
  const { index, clock, subjectOf } = site();
  const held = new HeldViews({ total: 1_000_000, perKey: 10_000 });
  const cache = new VisibleNamespacesCache({ index, clock, held });
  const view = cache.viewOf(subjectOf('u1', 'acme'), '');
  let ended = 0;
  const release = cache.hold(view, 0, () => {
    ended += 1;
    release?.();
  });
  for (let at = 0; at < 100; at += 1) index.put(namespace(`more-${at}`));
  t.equal(ended, 1);
  t.equal(held.bytes, 0);
});

t.test('the tenant that has most loses what it used least recently', async (t) => {
  const { index, clock, subjectOf } = site();
  const idle = new IdleViews({ maxViews: 5 });
  const cache = new VisibleNamespacesCache({ index, clock, idle });
  const small = cache.viewOf(subjectOf('u1', 'small'), '');
  const large = Array.from({ length: 10 }, (_, at) => cache.viewOf(subjectOf(`u${at}`, 'large'), ''));
  t.equal(cache.users, 5);
  t.equal(cache.viewOf(subjectOf('u1', 'small'), ''), small, 'the small tenant has lost nothing');
  t.equal(cache.viewOf(subjectOf('u9', 'large'), ''), large[9]);
  t.not(cache.viewOf(subjectOf('u0', 'large'), ''), large[0]);
});

t.test('watched names push none out of the cache, and are pushed out by none', async (t) => {
  const { index, clock, subjectOf } = site();
  const cache = new VisibleNamespacesCache({ index, clock, idle: new IdleViews({ maxBytes: 20_000 }) });
  const release = ['u1', 'u2', 'u3', 'u4'].map((name) =>
    cache.hold(cache.viewOf(subjectOf(name, 'acme'), ''), 0, () => {}),
  );
  const other = cache.viewOf(subjectOf('other', 'small'), '');
  t.equal(cache.users, 5);
  t.equal(cache.viewOf(subjectOf('other', 'small'), ''), other);
  for (const end of release) end?.();
  t.ok(cache.users < 5, 'they count in the cache once their watches end');
  t.equal(cache.viewOf(subjectOf('other', 'small'), ''), other);
  clock.advance(20 * 60_000);
  t.equal(cache.users, 0);
  index.put({ ...VIEW, revision: nextRevision() });
});
