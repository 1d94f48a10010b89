import t, { type Test } from 'tap';
import { LIST_INTERVAL, SILENCE } from '../../../src/kubernetes/informer.ts';
import { STALE_AFTER } from '../../../src/rbac/access-index.ts';
import { eventually } from '../../support/eventually.ts';
import { DOWN, ns, type Response, type ScriptedAPI, scriptedAPI } from '../../support/scripted-informer.ts';

/** More than any pause between two attempts. */
const A_WHILE = 31_000;

type OpenWatch = ScriptedAPI['watches'][number];

async function started(test: Test, ...lists: readonly Response[]) {
  const api = scriptedAPI();
  if (lists.length > 0) api.listWith(...lists);
  api.start();
  test.teardown(() => api.stop());
  return api;
}

function names({ index }: ScriptedAPI) {
  return [...index.objectsOf('').namespaces.keys()].sort();
}

const added = (name: string, revision: number) => ({ type: 'ADDED', object: ns(name, revision) });
const deleted = (name: string, revision: number) => ({ type: 'DELETED', object: ns(name, revision) });
const bookmark = (revision: number | string) => ({
  type: 'BOOKMARK',
  object: { kind: 'Namespace', metadata: { resourceVersion: String(revision) } },
});
/** Resolves when the index has the revision of the bookmark. */
async function sendBookmark(api: ScriptedAPI, watch: OpenWatch, revision: number) {
  watch.send(bookmark(revision));
  await eventually(() => api.index.revisionOf('namespaces') === revision);
}
const EXPIRED = {
  type: 'ERROR',
  object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version: 1 (698)' },
};

t.test('a resource is listed page by page and then watched from the revision of the list', async (t) => {
  const api = await started(
    t,
    { items: [ns('a', 3)], revision: '10', next: 'more/=' },
    { items: [ns('b', 4)], revision: '10' },
  );
  const watch = await api.watch(1);
  t.same(api.lists, ['/api/v1/namespaces?limit=500', '/api/v1/namespaces?limit=500&continue=more%2F%3D']);
  t.same(names(api), ['a', 'b']);
  t.equal(
    watch.target,
    '/api/v1/namespaces?watch=1&allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds=58',
  );
  watch.send(added('c', 11));
  watch.send({ type: 'MODIFIED', object: ns('a', 12, { labels: { team: 'x' } }) });
  watch.send(deleted('b', 13));
  await eventually(() => api.index.revisionOf('namespaces') === 13);
  t.same(names(api), ['a', 'c']);
  t.same(api.index.objectsOf('').namespaces.get('a')?.labels, { team: 'x' });
  await sendBookmark(api, watch, 20);
  t.same(api.counted, ['start']);
});

t.test('a list of null is empty, since Go writes empty lists as null', async (t) => {
  const api = await started(t, { items: null });
  await api.watch(1);
  t.same(names(api), []);
});

t.test('a watch that ends, or breaks off, is resumed from its last revision, without a list', async (t) => {
  const api = await started(t);
  const first = await api.watch(1);
  first.send(added('a', 15));
  await eventually(() => names(api).length === 1);
  api.clock.advance(5_000);
  first.end();
  const second = await api.watch(2);
  t.equal(second.query.get('resourceVersion'), '15');
  await sendBookmark(api, second, 30);
  second.breakOff();
  await api.elapse(A_WHILE);
  t.equal((await api.watch(3)).query.get('resourceVersion'), '30', 'a watch that broke off is resumed too');
  t.equal(api.lists.length, 1);
});

t.test('a watch that ends as soon as it began is repeated only after a pause', async (t) => {
  const api = await started(t);
  (await api.watch(1)).end();
  await eventually(() => api.clock.untilNext < 2_000);
  t.equal(api.watches.length, 1);
  api.clock.advance(2_000);
  await api.watch(2);
});

t.test(
  '410 causes a new list, whether it is a status, an event, or a response to a page of a list',
  async (t) => {
    const api = await started(t, { items: [ns('a', 3), ns('b', 4)] });
    const first = await api.watch(1);
    api.listWith({ items: [ns('a', 3)], revision: '50' });
    first.send(EXPIRED);
    await api.elapse(A_WHILE);
    const second = await api.watch(2);
    t.same(names(api), ['a'], 'an object that was deleted meanwhile is removed');
    t.equal(second.query.get('resourceVersion'), '50');
    await sendBookmark(api, second, 51);
    api.refuseWatches(410);
    api.listWith({ items: [], revision: '60', next: 'x' }, 410, { items: [ns('c', 61)], revision: '70' });
    second.end();
    for (const _ of [1, 2, 3]) await api.elapse(A_WHILE);
    t.equal((await api.watch(3)).query.get('resourceVersion'), '70');
    t.same(names(api), ['c']);
    t.same(api.counted, ['start', 'expired', 'expired', 'status', 'expired']);
  },
);

t.test('attempts to resume a watch are at most a second apart, however long an outage lasts', async (t) => {
  const api = await started(t);
  const first = await api.watch(1);
  await sendBookmark(api, first, 30);
  api.refuseWatches(...Array.from({ length: 8 }, () => DOWN));
  first.breakOff();
  for (let attempt = 1; attempt <= 9; attempt += 1) await api.elapse(1_000);
  t.equal((await api.watch(2)).query.get('resourceVersion'), '30');
});

t.test('attempts to list are spaced up to 30 seconds apart', async (t) => {
  const api = await started(t, DOWN);
  const pauses: number[] = [];
  for (let attempt = 1; attempt <= 8; attempt += 1) {
    await eventually(() => api.lists.length === attempt && api.clock.untilNext < Number.POSITIVE_INFINITY);
    pauses.push(api.clock.untilNext);
    api.clock.advance(api.clock.untilNext);
  }
  t.same(
    pauses,
    [750, 1_500, 3_000, 6_000, 12_000, 22_500, 22_500, 22_500],
    'the jitter makes them three quarters of the nominal pauses',
  );
});

t.test('without bookmarks, the resource is listed every minute', async (t) => {
  const api = await started(t);
  t.equal(
    (await api.watch(1)).query.get('timeoutSeconds'),
    '58',
    'kube-apiserver sends a bookmark before a watch times out',
  );
  api.listWith({ items: [], revision: '40' });
  await api.elapse(LIST_INTERVAL);
  t.equal((await api.watch(2)).query.get('timeoutSeconds'), '58');
  t.equal(api.index.revisionOf('namespaces'), 40);
  api.listWith({ items: [], revision: '50' });
  api.clock.advance(58_000);
  (await api.watch(2)).end();
  await api.watch(3);
  t.equal(api.index.revisionOf('namespaces'), 50);
  t.same(api.counted, ['start', 'no-bookmarks', 'no-bookmarks']);
  t.equal(api.age, 0);
});

t.test('events prove progress just as bookmarks do', async (t) => {
  const api = await started(t);
  const watch = await api.watch(1);
  api.clock.advance(LIST_INTERVAL - 1);
  watch.send(added('a', 11));
  await eventually(() => names(api).length === 1);
  await api.elapse(1);
  await eventually(() => api.clock.untilNext === LIST_INTERVAL - 1);
  t.equal(api.lists.length, 1);
});

t.test('a silent watch is resumed from its last revision if the API server sends bookmarks', async (t) => {
  const api = await started(t);
  const watch = await api.watch(1);
  await sendBookmark(api, watch, 20);
  await api.elapse(SILENCE);
  await eventually(() => watch.body.destroyed);
  await api.elapse(A_WHILE);
  t.equal((await api.watch(2)).query.get('resourceVersion'), '20');
  t.equal(api.lists.length, 1);
  t.same(api.counted, ['start', 'silent']);
  await api.elapse(SILENCE);
  await api.elapse(A_WHILE);
  await api.watch(3);
  t.same(
    api.counted,
    ['start', 'silent', 'silent', 'no-bookmarks'],
    'the API server may no longer send bookmarks',
  );
});

t.test(
  'a watch that stalls within an event counts as silent, even if parts of the event arrive',
  async (t) => {
    const api = await started(t, { items: [ns('a', 3)] });
    const watch = await api.watch(1);
    await sendBookmark(api, watch, 20);
    const text = JSON.stringify(deleted('a', 21));
    watch.send(text.slice(0, 10));
    api.clock.advance(SILENCE - 1);
    watch.send(text.slice(10, 20));
    await eventually(() => watch.body.readableLength === 0);
    await api.elapse(1);
    await eventually(() => watch.body.destroyed);
    await api.elapse(A_WHILE);
    const second = await api.watch(2);
    t.equal(second.query.get('resourceVersion'), '20');
    t.same(names(api), ['a'], 'an incomplete event has no effect');
    t.same(api.counted, ['start', 'silent']);
    second.send(`${text}\n`);
    await eventually(() => names(api).length === 0);
  },
);

t.test('while a list is very slow, the index stays unchanged and ages', async (t) => {
  const api = await started(t, { items: [ns('a', 3)] });
  const first = await api.watch(1);
  const { promise, resolve } = Promise.withResolvers<Response>();
  t.teardown(() => resolve(500));
  api.listWith(promise);
  first.send(EXPIRED);
  await api.elapse(A_WHILE);
  await eventually(() => api.lists.length === 2);
  const before = api.age;
  api.clock.advance(STALE_AFTER + 1);
  t.equal(api.age, before + STALE_AFTER + 1);
  t.same(names(api), ['a']);
  t.equal(api.lists.length, 2, 'no second list is requested meanwhile');
  resolve({ items: [ns('b', 60)], revision: '60' });
  t.equal((await api.watch(2)).query.get('resourceVersion'), '60');
  t.same(names(api), ['b']);
  t.equal(api.age, STALE_AFTER + 1, 'the age counts from the request of the list');
});

t.test('after events out of order, the resource is listed again', async (t) => {
  const api = await started(t);
  const first = await api.watch(1);
  first.send(added('b', 20));
  api.listWith({ items: [ns('a', 15), ns('b', 20)], revision: '25' });
  first.send(added('a', 15));
  await api.elapse(A_WHILE);
  const second = await api.watch(2);
  t.same(names(api), ['a', 'b']);
  api.listWith({ items: [ns('b', 20)], revision: '30' });
  second.send(deleted('a', 15));
  await api.elapse(A_WHILE);
  await api.watch(3);
  t.same(names(api), ['b'], 'a deletion with the last revision of the object counts as out of order');
  t.same(api.counted, ['start', 'disorder', 'disorder']);
});

for (const [name, sent] of [
  ['a line that is not JSON', '{"type":"ADD\n'],
  ['an object without metadata', '{"type":"ADDED","object":{}}\n'],
  ['a resourceVersion beyond safe integers', JSON.stringify(bookmark('9007199254740993')).concat('\n')],
  ['an incomplete line at the end', '{"type"'],
  ['a line of more than 16 MiB', 'x'.repeat(17 * 1024 * 1024)],
] as const)
  t.test(`${name} ends the watch, is counted, and the resource is listed`, async (t) => {
    const api = await started(t);
    const watch = await api.watch(1);
    api.listWith({ items: [ns('a', 15)], revision: '40' });
    watch.send(sent);
    watch.end();
    await api.elapse(A_WHILE);
    await api.watch(2);
    t.same(names(api), ['a']);
    t.same(api.counted, ['start', 'garbage', 'garbage'], 'the failure and its list are counted');
    t.ok(watch.body.destroyed);
    t.match(api.log, [{ level: 'warn', fields: { resource: 'namespaces' } }, { level: 'info' }]);
  });

t.test('unknown event types and empty lines are ignored', async (t) => {
  const api = await started(t);
  const watch = await api.watch(1);
  watch.send('\n\r\n');
  watch.send({ type: 'SOMETHING', object: null });
  await sendBookmark(api, watch, 12);
  t.same(api.counted, ['start']);
});

t.test(
  'only the revision of a bookmark is read, since Arktos puts objects of other tenants into it',
  async (t) => {
    const api = await started(t);
    const watch = await api.watch(1);
    watch.send({ type: 'BOOKMARK', object: ns('secret', 12) });
    await eventually(() => api.index.revisionOf('namespaces') === 12);
    t.same(names(api), []);
  },
);

t.test('a malformed object is left out, and the rest of the list is used', async (t) => {
  const api = await started(t, { items: [ns('a', 3), { metadata: {} }, ns('b', 4)] });
  await api.watch(1);
  t.same(names(api), ['a', 'b']);
  t.match(api.log, [{ level: 'warn', fields: { error: /no name/ } }]);
});

t.test('a response that is not a list counts as malformed', async (t) => {
  for (const text of ['<html>', '{"items":[]}']) {
    const api = await started(t, text);
    await eventually(() => api.counted.length >= 2);
    t.same(api.counted.slice(0, 2), ['start', 'garbage'], text);
    api.listWith({ items: [ns('a', 3)] });
    await api.elapse(A_WHILE);
    await api.watch(1);
  }
});

t.test('the error about a list with an unusable revision names the revision', async (t) => {
  const api = await started(t, { items: [], revision: 'v1.5' });
  await eventually(() => api.log.length > 0);
  t.match(api.log, [{ level: 'warn', fields: { error: /the resourceVersion "v1.5" is no number/ } }]);
  t.equal(api.index.revisionOf('namespaces'), undefined);
});

for (const [status, told] of [
  [401, { message: /refuses Stonegate's credential/, fields: { reason: /401/ } }],
  [
    403,
    {
      message: /apply the output of `stonegate manifests rbac --config FILE`/,
      fields: { missingRule: '{"apiGroups":[""],"resources":["namespaces"],"verbs":["list","watch"]}' },
    },
  ],
] as const)
  t.test(`${status} is logged once a minute with what is missing, without a stack`, async (t) => {
    const api = await started(t, status);
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await eventually(() => api.lists.length === attempt);
      await api.elapse(A_WHILE);
    }
    const errors = api.log.filter(({ level }) => level === 'error');
    t.equal(errors.length, 3, 'in 155 seconds');
    t.match(errors[0], told);
    t.notMatch(JSON.stringify(errors[0]), /at .*\.ts:/);
    api.listWith({ items: [] });
    api.refuseWatches(status);
    await api.elapse(A_WHILE);
    await eventually(() => api.counted.includes('refused'));
  });

t.test('after any other status or error event, the watch is retried without a list', async (t) => {
  const api = await started(t);
  const first = await api.watch(1);
  first.send(bookmark(20));
  api.refuseWatches(500, 429, 503);
  first.send({ type: 'ERROR', object: { kind: 'Status', code: 500, message: 'etcd is gone' } });
  for (let attempt = 0; attempt < 4; attempt += 1) await api.elapse(A_WHILE);
  await api.watch(2);
  t.equal(api.lists.length, 1);
  t.same(api.counted, ['start', 'status', 'status', 'status', 'status']);
  t.match(api.log[0], { fields: { error: /etcd is gone/ } });
});

t.test('an informer can be stopped at any time, and leaves no timer', async (t) => {
  const watching = scriptedAPI();
  watching.start();
  const watch = await watching.watch(1);
  await watching.stop();
  t.ok(watch.body.destroyed);
  t.equal(watching.clock.pending, 0);
  const pausing = scriptedAPI();
  pausing.listWith(DOWN);
  pausing.start();
  await eventually(() => pausing.clock.pending > 0);
  await pausing.stop();
  t.equal(pausing.clock.pending, 0);
});

t.test('a watch is resumed only if the API server has reached its revision', async (t) => {
  const api = await started(t, { items: [ns('a', 3), ns('b', 4)] });
  const first = await api.watch(1);
  await sendBookmark(api, first, 500);
  api.tellRevision(60);
  api.listWith({ items: [ns('a', 3)], revision: '60' });
  api.clock.advance(5_000);
  first.end();
  await api.elapse(A_WHILE);
  t.equal((await api.watch(2)).query.get('resourceVersion'), '60');
  t.same(names(api), ['a'], 'a backup was restored, so the new list counts');
  t.same(api.counted, ['start', 'restored']);
});

t.test(
  'after a bookmark with an earlier revision, which shows a restored backup, the resource is listed',
  async (t) => {
    const api = await started(t, { items: [ns('a', 3), ns('b', 4)] });
    const first = await api.watch(1);
    await sendBookmark(api, first, 500);
    api.listWith({ items: [ns('a', 3)], revision: '60' });
    first.send(bookmark(61));
    await api.elapse(A_WHILE);
    t.equal((await api.watch(2)).query.get('resourceVersion'), '60');
    t.same(names(api), ['a']);
    t.same(api.counted, ['start', 'restored']);
  },
);
