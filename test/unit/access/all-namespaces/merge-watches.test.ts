/** One watch made of the watches of single namespaces. */
import fc from 'fast-check';
import t from 'tap';
import { MergedWatch } from '../../../../src/access/all-namespaces/merge-watches.ts';
import { bookmark, event, type WatchEvent } from '../../../support/namespaced-watches.ts';

const line = (one: WatchEvent) => Buffer.from(JSON.stringify(one));
const BOTH = { bookmarks: 'pass', sendsInitialEvents: false } as const;

function passed(merged: MergedWatch, namespace: string, one: WatchEvent): string[] {
  return merged.take(namespace, line(one)).lines.map(String);
}

t.test('D039 a bookmark passes only when all namespaces have passed its revision', async (t) => {
  const merged = new MergedWatch(['a', 'b', 'c'], BOTH);
  t.same(passed(merged, 'a', bookmark(10)), []);
  t.same(passed(merged, 'a', bookmark(20)), []);
  t.same(passed(merged, 'b', bookmark(15)), []);
  t.same(passed(merged, 'c', event('ADDED', 'c', 'p', 30)), [JSON.stringify(event('ADDED', 'c', 'p', 30))]);
  t.same(passed(merged, 'c', bookmark(12)), [JSON.stringify(bookmark(12))]);
  t.same(passed(merged, 'c', bookmark(40)), [JSON.stringify(bookmark(15))]);
  t.same(passed(merged, 'c', bookmark(41)), [], 'not twice');
});

/** Events of a namespace, with rising revisions, some of them bookmarks. */
const history = fc.array(fc.record({ isBookmark: fc.boolean(), step: fc.integer({ min: 1, max: 5 }) }), {
  maxLength: 12,
});

t.test(
  'the merged watch has every event of each namespace in its order, and no bookmark ahead of one',
  async (t) => {
    fc.assert(
      fc.property(
        fc.array(history, { minLength: 1, maxLength: 4 }),
        fc.infiniteStream(fc.nat()),
        (histories, picks) => {
          const names = histories.map((_, at) => `ns-${at}`);
          const merged = new MergedWatch(names, BOTH);
          const queues = histories.map((steps, at) => {
            let revision = 0;
            return steps.map(({ isBookmark, step }) => {
              revision += step;
              return isBookmark
                ? bookmark(revision)
                : event('MODIFIED', `ns-${at}`, `p${revision}`, revision);
            });
          });
          const sent = queues.map((queue) => queue.filter(({ type }) => type !== 'BOOKMARK'));
          const reached = names.map(() => 0);
          const received = new Map<string, WatchEvent[]>(names.map((name) => [name, []]));
          let last = 0;
          while (queues.some((queue) => queue.length > 0)) {
            const open = queues.flatMap((queue, at) => (queue.length > 0 ? [at] : []));
            const at = open[(picks.next().value ?? 0) % open.length] ?? 0;
            const next = queues[at]?.shift();
            if (next === undefined) continue;
            const revision = Number(next.object.metadata?.resourceVersion);
            reached[at] = revision;
            for (const text of passed(merged, `ns-${at}`, next)) {
              const got: WatchEvent = JSON.parse(text);
              if (got.type !== 'BOOKMARK') received.get(got.object.metadata?.namespace ?? '')?.push(got);
              else {
                const bookmarked = Number(got.object.metadata?.resourceVersion);
                t.ok(bookmarked <= Math.min(...reached), 'not ahead');
                t.ok(bookmarked > last, 'rising');
                last = bookmarked;
              }
            }
          }
          t.same([...received.values()], sent);
        },
      ),
      { numRuns: 200 },
    );
  },
);

t.test(
  'the bookmark behind the initial events passes when all namespaces have sent theirs, at the lowest',
  async (t) => {
    const merged = new MergedWatch(['a', 'b'], { bookmarks: 'pass', sendsInitialEvents: true });
    t.equal(passed(merged, 'a', event('ADDED', 'a', 'p', 90)).length, 1);
    t.equal(merged.resumeFrom('a'), undefined, 'not to be resumed before all objects were sent');
    t.same(passed(merged, 'a', bookmark(100, true)), []);
    t.same(passed(merged, 'a', bookmark(110)), []);
    t.same(passed(merged, 'b', bookmark(101, true)), [JSON.stringify(bookmark(100, true))]);
    t.same(merged.resumeFrom('a'), { revision: '110' });
    t.same(passed(merged, 'b', bookmark(120)), [JSON.stringify(bookmark(110))]);
  },
);

t.test('without the client’s request bookmarks only tell from where a namespace goes on', async (t) => {
  const merged = new MergedWatch(['a'], { bookmarks: 'drop', sendsInitialEvents: false });
  t.equal(merged.resumeFrom('a'), 'start');
  t.same(passed(merged, 'a', bookmark(10)), []);
  t.same(merged.resumeFrom('a'), { revision: '10' });
  t.same(passed(merged, 'a', event('ADDED', 'a', 'p', 9)), [JSON.stringify(event('ADDED', 'a', 'p', 9))]);
  t.same(merged.resumeFrom('a'), { revision: '10' }, 'the highest');
});

t.test('Arktos’ bookmarks are of no use and never pass', async (t) => {
  const merged = new MergedWatch(['a'], { bookmarks: 'ignore', sendsInitialEvents: false });
  t.same(passed(merged, 'a', bookmark(10)), []);
  t.equal(merged.resumeFrom('a'), 'start');
});

t.test('nothing passes of a namespace that was removed, and no bookmark any more', async (t) => {
  const merged = new MergedWatch(['a', 'b'], BOTH);
  passed(merged, 'a', bookmark(10));
  merged.remove('b');
  t.same(passed(merged, 'b', event('ADDED', 'b', 'p', 11)), []);
  t.same(passed(merged, 'a', bookmark(12)), []);
  t.equal(passed(merged, 'a', event('ADDED', 'a', 'p', 13)).length, 1);
  t.equal(merged.resumeFrom('b'), undefined);
});

t.test('before a clean end only events up to the highest that was sent pass', async (t) => {
  const merged = new MergedWatch(['a', 'b'], BOTH);
  passed(merged, 'a', event('ADDED', 'a', 'p', 20));
  merged.finish();
  t.equal(passed(merged, 'b', event('ADDED', 'b', 'p', 19)).length, 1, 'the client resumes behind it');
  t.equal(passed(merged, 'b', event('ADDED', 'b', 'p', 21)).length, 0, 'the client gets it when it resumes');
});

t.test('an error of the API server passes and ends the watch; other lines are refused', async (t) => {
  const merged = new MergedWatch(['a'], BOTH);
  const error = Buffer.from('{"type":"ERROR","object":{"kind":"Status","code":410}}');
  t.same(merged.take('a', error), { lines: [error], isOver: true });
  for (const text of [
    '',
    'x',
    '{}',
    '{"type":"OTHER","object":{}}',
    '{"type":"BOOKMARK","object":{}}',
    '[1]',
  ])
    t.throws(() => merged.take('a', Buffer.from(text)), { name: 'MalformedJSON' }, text);
});
