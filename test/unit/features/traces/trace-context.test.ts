/** W3C Trace Context, https://www.w3.org/TR/trace-context/ */
import fc from 'fast-check';
import t from 'tap';
import {
  newTraceContext,
  readTraceContext,
  withTraceContext,
} from '../../../../src/features/traces/trace-context.ts';
import type { HeaderField } from '../../../../src/lib/header-list.ts';
import { systemRandom } from '../../../../src/lib/random.ts';

const ID = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const read = (...values: string[]) =>
  readTraceContext(values.map((value): HeaderField => ['Traceparent', value]));

t.test('a valid context is read, with the decision of its sender', async (t) => {
  t.same(read(`00-${ID}-${PARENT}-01`), { traceID: ID, parentID: PARENT, isSampled: true });
  t.match(read(`00-${ID}-${PARENT}-02`), { isSampled: false });
  t.match(read(`cc-${ID}-${PARENT}-01-what-the-future-will-be-like`), { traceID: ID, isSampled: true });
});

t.test('anything else begins a new trace', async (t) => {
  const invalid = [
    ...['', `ff-${ID}-${PARENT}-01`, `00-${ID}-${PARENT}-01-more`, `00-${ID}-${PARENT}-01-`],
    ...[`00-${'0'.repeat(32)}-${PARENT}-01`, `00-${ID}-${'0'.repeat(16)}-01`, `00-${ID}-${PARENT}-1`],
    ...[`00-${ID.toUpperCase()}-${PARENT}-01`, `cc-${ID}-${PARENT}-01.x`, ` 00-${ID}-${PARENT}-01`],
  ];
  for (const value of invalid) t.equal(read(value), undefined, value);
  t.equal(read(`00-${ID}-${PARENT}-01`, `00-${ID}-${PARENT}-01`), undefined, 'two of them');
  t.equal(readTraceContext([['tracestate', 'a=1']]), undefined);
});

t.test('whatever is read can be passed on, and is read there as it was', async (t) => {
  const hex = (length: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });
  const near = fc.tuple(hex(2), hex(32), hex(16), hex(2)).map((fields) => fields.join('-'));
  fc.assert(
    fc.property(fc.oneof(near, fc.string()), fc.string(), (parent, state) => {
      const context = readTraceContext([
        ['traceparent', parent],
        ['tracestate', state],
      ]);
      if (context === undefined) return true;
      const sent = withTraceContext(
        [
          ['Accept', '*/*'],
          ['TraceParent', 'x'],
          ['tracestate', 'y'],
        ],
        context,
        PARENT,
      );
      const [accept, traceparent] = sent;
      t.same(accept, ['Accept', '*/*']);
      return (
        /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/.test(traceparent?.[1] ?? '') &&
        JSON.stringify(readTraceContext(sent)) === JSON.stringify({ ...context, parentID: PARENT })
      );
    }),
  );
});

t.test('the state of other systems is passed on whole, or not at all', async (t) => {
  const parent: HeaderField = ['traceparent', `00-${ID}-${PARENT}-01`];
  t.equal(readTraceContext([parent, ['tracestate', 'a=1'], ['Tracestate', 'b=2']])?.state, 'a=1,b=2');
  t.equal(readTraceContext([parent, ['tracestate', `a=${'1'.repeat(511)}`]])?.state, undefined);
});

t.test('the ratio decides how many traces are sampled, by their ID alone', async (t) => {
  const idOf = (digits: string) => ({
    ...systemRandom,
    bytes: () => Buffer.from(digits.padStart(32, '1'), 'hex'),
  });
  t.match(newTraceContext(idOf('ffffffffffffff'), 1), { isSampled: true });
  t.match(newTraceContext(idOf('00000000000000'), 0), { isSampled: false });
  t.match(newTraceContext(idOf('f028f5c28f5c28'), 0.01), { isSampled: true }, 'just below a hundredth');
  t.match(newTraceContext(idOf('f028f5c28f5c29'), 0.01), { isSampled: false }, 'just above it');
});
