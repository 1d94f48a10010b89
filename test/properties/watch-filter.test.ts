/** All lines of a watch except bookmarks reach the client, wherever the API server’s bytes are split. */
import fc from 'fast-check';
import t from 'tap';
import { WatchFilter } from '../../src/upstream/watch-filter.ts';

const line = fc
  .tuple(
    fc.constantFrom('ADDED', 'MODIFIED', 'DELETED', 'ERROR', 'BOOKMARK', 'BOOKMARK'),
    fc.oneof(
      fc.json(),
      fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    ),
  )
  .map(([type, object]) => `{"type":"${type}","object":${object}}\n`);
const lines = fc.array(line, { maxLength: 12 });

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let from = 0;
  for (let at = 0; from < bytes.length; at += 1) {
    const size = sizes[at % sizes.length] ?? bytes.length;
    pieces.push(Buffer.from(bytes.subarray(from, from + size)));
    from += size;
  }
  return pieces;
}

t.test('exactly the lines that are not bookmarks pass, however they are split', async (t) => {
  fc.assert(
    fc.property(lines, fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), (given, sizes) => {
      const filter = new WatchFilter();
      const passed = cut(Buffer.from(given.join('')), sizes).flatMap((piece) => filter.take(piece));
      const expected = given.filter((text) => !text.startsWith('{"type":"BOOKMARK"'));
      return Buffer.concat(passed).equals(Buffer.from(expected.join('')));
    }),
    { numRuns: 3_000 },
  );
  t.pass();
});

t.test('no part of a line that is not an event passes, however it is split', async (t) => {
  const noEvent = fc
    .string({ unit: 'grapheme-ascii', minLength: 1 })
    .filter((text) => !'{"type":"'.startsWith(text) && !/^\{"type":"(?:[AMDEB]|$)/.test(text));
  fc.assert(
    fc.property(lines, noEvent, fc.integer({ min: 1, max: 60 }), (given, broken, size) => {
      const filter = new WatchFilter();
      const passed: Buffer[] = [];
      let ended = false;
      try {
        for (const piece of cut(Buffer.from(`${given.join('')}${broken}\n`), [size]))
          passed.push(...filter.take(piece));
      } catch {
        ended = true;
      }
      const before = given.filter((text) => !text.startsWith('{"type":"BOOKMARK"')).join('');
      return (
        ended && Buffer.from(before).subarray(0, Buffer.concat(passed).length).equals(Buffer.concat(passed))
      );
    }),
    { numRuns: 2_000 },
  );
  t.pass();
});
