/** Watches of namespaces by clients that read slowly: what they are told, and what they cost. */
import t from 'tap';
import { namespacesSite } from '../../../support/namespaces-site.ts';
import {
  clusterRole,
  clusterRoleBinding,
  namespace,
  roleBinding,
  user,
} from '../../../support/rbac-objects.ts';

const VIEWER = clusterRole('viewer', [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get'] }]);
const BIG = 'x'.repeat(10_000);
const LIST = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
const SLOW = { reads: false };

/** Five megabytes of namespaces. */
function bigSite() {
  const names = Array.from({ length: 500 }, (_, at) => `ns-${String(at).padStart(3, '0')}`);
  const namespaces = names.map((name) => namespace(name, { labels: { big: BIG } }));
  const everywhere = clusterRoleBinding('all', 'ClusterRole/viewer', [user('acme:alice')]);
  const inFirst = roleBinding('ns-000', 'one', 'ClusterRole/viewer', [user('acme:bob')]);
  const site = namespacesSite([VIEWER, ...namespaces, everywhere, inFirst]);
  return { ...site, names, namespaces, everywhere };
}

t.test('a WatchList of any size reaches a client that reads, as fast as it reads', async (t) => {
  const { watch, names } = bigSite();
  const fast = await watch('alice', LIST);
  const expected = [...names.map((name) => `ADDED ${name}`), 'BOOKMARK'];
  t.same(await fast.read(), expected);
  const slow = await watch('alice', LIST, [], SLOW);
  const pieces: string[] = await slow.read();
  t.ok(slow.stream.text.length < 128 * 1_024, 'no more is made than the client takes');
  while (pieces.length < expected.length && !slow.ended) {
    slow.stream.readOnce();
    pieces.push(...(await slow.read()));
  }
  t.same(pieces, expected);
});

t.test('what changes meanwhile is told once, and no bookmark passes before all is told', async (t) => {
  const site = bigSite();
  const slow = await site.watch('alice', LIST, [], SLOW);
  const [first, , third] = site.namespaces;
  const last = site.namespaces.at(-1);
  if (!first || !third || !last) throw new Error('no namespaces');
  await slow.read();
  site.put({ ...first, labels: { changed: 'once' } });
  site.put({ ...first, labels: { changed: 'twice' } });
  site.delete(third);
  site.put(third);
  site.delete(last);
  site.put(namespace('new'));
  site.clock.advance(60_000);
  const before = await slow.read();
  t.same(before, [], 'nothing is written while the client does not read');
  t.ok(slow.stream.held > 0);
  slow.stream.resume();
  const events = await slow.read();
  t.same(events.at(-1), 'BOOKMARK');
  t.equal(events.filter((event) => event === 'BOOKMARK').length, 1);
  t.same(
    events.filter((event) => /ns-000|ns-002|ns-499|new/.test(event)),
    ['MODIFIED ns-000', 'DELETED ns-002', 'ADDED ns-002', 'ADDED new'],
  );
  t.equal(slow.events.at(-1)?.resourceVersion, String(site.index.revision));
  t.equal(slow.stream.held, 0);
});

t.test('a client that reads too slowly is disconnected, and no other', async (t) => {
  const site = bigSite();
  const slow = await site.watch('alice', '', [], { ...SLOW, room: 20_000 });
  const other = await site.watch('alice');
  const bob = await site.watch('bob');
  await other.read();
  for (const one of site.namespaces.slice(0, 3)) site.delete(one);
  t.ok(slow.ended);
  t.same(await other.read(), ['DELETED ns-000', 'DELETED ns-001', 'DELETED ns-002']);
  t.same(await bob.read(), ['ADDED ns-000', 'DELETED ns-000']);
});

t.test('a grant of everything reaches a client that reads slowly', async (t) => {
  const site = bigSite();
  site.delete(site.everywhere);
  const slow = await site.watch('alice', `resourceVersion=${site.index.revision}&allowWatchBookmarks=true`);
  slow.stream.pause();
  site.put(site.everywhere);
  t.same(await slow.read(), []);
  slow.stream.resume();
  t.same(await slow.read(), [...site.names.map((name) => `ADDED ${name}`), 'BOOKMARK']);
});
