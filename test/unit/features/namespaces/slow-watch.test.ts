/** Watches of namespaces by clients that read slowly: what they receive, and what they cost. */
import t from 'tap';
import { namespacesSite } from '../../../support/namespaces-site.ts';
import { namespace, rbacObject, rbacObjects } from '../../../support/rbac-objects.ts';

const BIG = 'x'.repeat(10_000);
const LIST = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
const SLOW = { reads: false };

/** Five megabytes of namespaces. */
function bigSite() {
  const names = Array.from({ length: 500 }, (_, at) => `ns-${String(at).padStart(3, '0')}`);
  const namespaces = names.map((name) => namespace(name, { labels: { big: BIG } }));
  const everywhere = rbacObject('ClusterRoleBinding all: ClusterRole/viewer to User acme:alice');
  const others = rbacObjects(`
    ClusterRole viewer: get namespaces
    RoleBinding ns-000/one: ClusterRole/viewer to User acme:bob`);
  const site = namespacesSite([...others, ...namespaces, everywhere]);
  return { ...site, names, namespaces, everywhere };
}

t.test('a WatchList of any size reaches a client as fast as the client reads', async (t) => {
  const { watch, names } = bigSite();
  const fast = await watch('alice', LIST);
  const expected = [...names.map((name) => `ADDED ${name}`), 'BOOKMARK'];
  t.same(await fast.read(), expected);
  const slow = await watch('alice', LIST, [], SLOW);
  const pieces: string[] = await slow.read();
  t.ok(slow.stream.text.length < 128 * 1_024, 'no more is written than the client reads');
  while (pieces.length < expected.length && !slow.ended) {
    slow.stream.readOnce();
    pieces.push(...(await slow.read()));
  }
  t.same(pieces, expected);
});

t.test('only a client that reads too slowly for the stored changes has to list again', async (t) => {
  const site = bigSite();
  site.delete(site.everywhere);
  const list = await site.get('alice');
  const query = `resourceVersion=${list?.resourceVersion}&allowWatchBookmarks=true`;
  const slow = await site.watch('alice', query);
  const fast = await site.watch('alice', query);
  slow.stream.pause();
  site.put(namespace('unseen'));
  site.put(rbacObject('RoleBinding ns-001/two: ClusterRole/viewer to User acme:alice'));
  t.same(await fast.read(), ['ADDED ns-001', 'BOOKMARK']);
  await slow.read();
  site.put(site.everywhere);
  const all = [...site.names.filter((name) => name !== 'ns-001'), 'unseen'].map((name) => `ADDED ${name}`);
  t.same(await fast.read(), [...all, 'BOOKMARK']);
  slow.stream.resume();
  t.same(await slow.read(), ['ERROR']);
  t.ok(slow.ended);
});

t.test('a watch says how much memory its selector takes', async (t) => {
  const { filtered, outgoing } = bigSite();
  const values = Array.from({ length: 10_000 }, (_, at) => `v${at}`).join(',');
  const watch = (labelSelector: string) =>
    filtered.handle(outgoing('bob', `/api/v1/namespaces?watch=1&labelSelector=${labelSelector}`));
  t.match(await watch('a'), { bytes: 12 });
  t.match(await watch(`a+in+(${values})`), { bytes: 12 * `a in (${values})`.length });
});
