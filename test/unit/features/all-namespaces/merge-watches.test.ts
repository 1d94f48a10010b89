/** One watch made of the watches of single namespaces. */
import fc from 'fast-check';
import t from 'tap';
import {
  MergedWatch,
  type MergedWatchOptions,
} from '../../../../src/features/all-namespaces/merge-watches.ts';
import { bookmark, event, type WatchEvent } from '../../../support/namespaced-watches.ts';

const line = (one: WatchEvent) => Buffer.from(JSON.stringify(one));
const DIGITS = '12345678';

function merged(namespaces: readonly string[], options: Partial<MergedWatchOptions> = {}): MergedWatch {
  return new MergedWatch({
    namespaces,
    revision: '5',
    digits: DIGITS,
    allowsBookmarks: true,
    bookmarksInitialEvents: false,
    countsBookmarks: true,
    ...options,
  });
}

/** The lines that the client gets, and the revision of the bookmark that follows them. */
function passed(watch: MergedWatch, namespace: string, one: WatchEvent): (string | undefined)[] {
  const lines = watch.take(namespace, line(one)).lines.map(String);
  return [...lines, bookmarked(watch)].filter((text) => text !== undefined);
}

function bookmarked(watch: MergedWatch): string | undefined {
  const text = watch.bookmark();
  if (text === undefined) return undefined;
  const { type, object }: WatchEvent = JSON.parse(String(text));
  const { resourceVersion = '', annotations } = object.metadata ?? {};
  return `${type} ${resourceVersion.replace(DIGITS, '')}${annotations === undefined ? '' : ' end'}`;
}

/** Events of a namespace, with rising revisions, some of them bookmarks. */
const history = fc.array(fc.record({ isBookmark: fc.boolean(), step: fc.integer({ min: 1, max: 5 }) }), {
  maxLength: 12,
});

t.test(
  'the merged watch has the events of each namespace in order, and no bookmark is ahead of an event',
  async (t) => {
    fc.assert(
      fc.property(
        fc.array(history, { minLength: 1, maxLength: 4 }),
        fc.infiniteStream(fc.nat()),
        (histories, picks) => {
          const names = histories.map((_, at) => `ns-${at}`);
          const watch = merged(names, { revision: '0' });
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
            for (const text of passed(watch, `ns-${at}`, next)) {
              const [, mark] = /^BOOKMARK ([0-9]+)$/.exec(text ?? '') ?? [];
              if (mark === undefined) {
                const got: WatchEvent = JSON.parse(text ?? '');
                received.get(got.object.metadata?.namespace ?? '')?.push(got);
                continue;
              }
              t.ok(Number(mark) <= Math.min(...reached), 'a bookmark is not ahead');
              t.ok(Number(mark) >= last, 'bookmarks never go back');
              last = Number(mark);
            }
          }
          t.same([...received.values()], sent);
        },
      ),
      { numRuns: 200 },
    );
  },
);

t.test('the initial objects of a watch say nothing about its revision', async (t) => {
  const watch = merged(['a'], { revision: undefined });
  t.equal(passed(watch, 'a', event('ADDED', 'a', 'p', 90)).length, 1);
  t.same(passed(watch, 'a', bookmark(95)), ['BOOKMARK 95']);
  t.equal(passed(watch, 'a', event('ADDED', 'a', 'p', 97)).at(-1), 'BOOKMARK 97');
});

t.test('a bookmark among Tables is a Table without rows, as that of the API server', async (t) => {
  const watch = merged(['a']);
  const metadata = { resourceVersion: '6' };
  watch.take('a', line({ type: 'ADDED', object: { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata } }));
  t.match(JSON.parse(String(watch.bookmark())), {
    object: { kind: 'Table', columnDefinitions: null, rows: [] },
  });
});

t.test(
  'an error from the API server is passed on and ends the watch; malformed lines are refused',
  async (t) => {
    const watch = merged(['a']);
    const error = Buffer.from('{"type":"ERROR","object":{"kind":"Status","code":410}}');
    t.same(watch.take('a', error), { lines: [error], isOver: true });
    for (const text of [
      '',
      'x',
      '{}',
      '{"type":"OTHER","object":{}}',
      '{"type":"BOOKMARK","object":{}}',
      '[1]',
    ])
      t.throws(() => watch.take('a', Buffer.from(text)), { name: 'MalformedJSON' }, text);
  },
);
