import t from 'tap';
import { assertWatchEvents, WatchFilter } from '../../../src/upstream/watch-filter.ts';

const MINE = '{"type":"ADDED","object":{"metadata":{"name":"mine"}}}\n';
const THEIRS = '{"type":"BOOKMARK","object":{"metadata":{"name":"theirs"}}}\n';
const ERROR = '{"type":"ERROR","object":{"code":410}}\n';

const take = (...pieces: string[]): string => {
  const filter = new WatchFilter();
  return pieces.map((piece) => Buffer.concat(filter.take(Buffer.from(piece))).toString()).join('');
};

t.test('bookmarks are dropped, everything else passes', async (t) => {
  t.equal(take(`${MINE}${THEIRS}${ERROR}${THEIRS}${MINE}`), `${MINE}${ERROR}${MINE}`);
});

t.test('an event passes on as it streams, before its line is complete', async (t) => {
  const filter = new WatchFilter();
  const [begun] = filter.take(Buffer.from('{"type":"MODIFIED","object":{"meta'));
  t.equal(begun?.toString(), '{"type":"MODIFIED","object":{"meta');
  t.same(filter.take(Buffer.from('{"type":"BO')).map(String), ['{"type":"BO'], 'it is within the line');
});

t.test('what passes is not copied', async (t) => {
  const bytes = Buffer.from(MINE + ERROR);
  const [passed, ...others] = new WatchFilter().take(bytes);
  t.equal(passed?.buffer, bytes.buffer);
  t.equal(passed?.length, bytes.length);
  t.same(others, []);
});

t.test('of a line that is cut before its kind is known nothing passes', async (t) => {
  t.equal(take(`${MINE}{"type":"`), MINE);
  t.equal(take('{"type":"BOOKMAR'), '');
});

for (const line of [
  '\n',
  ' {"type":"ADDED"}\n',
  '{"object":{},"type":"ADDED"}\n',
  '{"type": "ADDED"}\n',
  '{"type":"bookmark"}\n',
  '{"type":"SYNC"}\n',
  '{"type":"ADDEDX"}\n',
  '{"type":"BOOKMARK2"}\n',
  '{"kind":"SecretList"}\n',
  '\u001f\u008b',
])
  t.test(`${JSON.stringify(line)} ends the watch`, async (t) => {
    t.throws(() => take(line), /no known event/);
    t.throws(() => take(`${MINE}${line}`), /no known event/);
  });

const JSON_FIELD = ['Content-Type', 'application/json'] as const;

t.test('only a stream of plain JSON is filtered', async (t) => {
  assertWatchEvents([JSON_FIELD]);
  assertWatchEvents([['content-type', 'application/json;stream=watch']]);
  assertWatchEvents([JSON_FIELD, ['Content-Encoding', 'identity']]);
  for (const headers of [
    [],
    [['Content-Type', 'application/vnd.kubernetes.protobuf;stream=watch']],
    [['Content-Type', 'application/jsonx']],
    [['Content-Type', 'application/yaml']],
    [JSON_FIELD, JSON_FIELD],
    [JSON_FIELD, ['Content-Encoding', 'gzip']],
    [JSON_FIELD, ['Content-Encoding', 'identity, gzip']],
    [JSON_FIELD, ['Content-Length', '100']],
  ] as const)
    t.throws(() => assertWatchEvents(headers), { code: 'UpstreamUnavailable' }, JSON.stringify(headers));
});
