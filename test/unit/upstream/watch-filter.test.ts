/** `properties/watch-filter.test.ts` holds which lines pass. */
import t from 'tap';
import { assertWatchEvents, WatchFilter } from '../../../src/upstream/watch-filter.ts';

const MINE = '{"type":"ADDED","object":{"metadata":{"name":"mine"}}}\n';
const ERROR = '{"type":"ERROR","object":{"code":410}}\n';

t.test('an event is sent on before its line is complete', async (t) => {
  const filter = new WatchFilter();
  const [begun] = filter.take(Buffer.from('{"type":"MODIFIED","object":{"meta'));
  t.equal(begun?.toString(), '{"type":"MODIFIED","object":{"meta');
  t.same(filter.take(Buffer.from('{"type":"BO')).map(String), ['{"type":"BO'], 'it is within the line');
});

t.test('events that pass are not copied', async (t) => {
  const bytes = Buffer.from(MINE + ERROR);
  const [passed, ...others] = new WatchFilter().take(bytes);
  t.equal(passed?.buffer, bytes.buffer);
  t.equal(passed?.length, bytes.length);
  t.same(others, []);
});

t.test('a line that is no complete event type ends the watch', async (t) => {
  for (const line of ['{"type":"ADDEDX"}\n', '{"type": "ADDED"}\n', '{"type":"bookmark"}\n', '\n'])
    t.throws(() => new WatchFilter().take(Buffer.from(MINE + line)), /no known event/, line);
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
    [JSON_FIELD, JSON_FIELD],
    [JSON_FIELD, ['Content-Encoding', 'gzip']],
    [JSON_FIELD, ['Content-Length', '100']],
  ] as const)
    t.throws(() => assertWatchEvents(headers), { code: 'UpstreamUnavailable' }, JSON.stringify(headers));
});
