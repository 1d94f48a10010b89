/**
 * Whatever a watch sends (garbage, repeated and reordered events), the index finally equals the state of the
 * API server.
 */
import fc from 'fast-check';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { ns, scriptedAPI } from '../support/scripted-informer.ts';

const NAMES = ['a', 'b', 'c'] as const;
const event = fc.record({
  type: fc.constantFrom('ADDED', 'MODIFIED', 'DELETED'),
  name: fc.constantFrom(...NAMES),
  revision: fc.integer({ min: 1, max: 60 }),
});
const bookmark = fc.integer({ min: 1, max: 60 }).map((revision) => ({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: String(revision) } },
}));
const line = fc.oneof(
  { weight: 6, arbitrary: event.map(({ type, name, revision }) => ({ type, object: ns(name, revision) })) },
  { weight: 2, arbitrary: bookmark },
  { weight: 1, arbitrary: fc.constantFrom('{"type":"ADDED"}\n', 'x\n', '[]\n', '\n', '{"type":"NEW"}\n') },
  { weight: 1, arbitrary: fc.string({ maxLength: 20 }).map((text) => `${text.replaceAll('\n', '')}\n`) },
);

t.test('after events in any order, the index lists again and equals the list', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 15 }), fc.subarray([...NAMES]), async (lines, left) => {
      const api = scriptedAPI();
      try {
        api.listWith({ items: [ns('a', 3)], revision: '10' });
        api.start();
        const watch = await api.watch(1);
        api.listWith({ items: left.map((name, at) => ns(name, 90 + at)), revision: '100' });
        api.tellRevision(100);
        for (const each of lines) watch.send(each);
        watch.end();
        // The API server has compacted its history: it refuses the next watches, so the resource is listed.
        api.refuseWatches(...Array.from({ length: 5 }, () => 410));
        await eventually(() => {
          if (api.clock.untilNext <= 31_000) api.clock.advance(31_000);
          return api.index.revisionOf('namespaces') === 100;
        });
        return [...api.index.objectsOf('').namespaces.keys()].sort().join() === left.join();
      } finally {
        await api.stop();
      }
    }),
    { numRuns: 30 },
  );
  t.pass();
});
