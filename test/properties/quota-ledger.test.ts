/**
 * What a TenantQuota holds as text is read as it was written, whatever clients call their objects; and text
 * that another client wrote breaks nothing.
 */
import fc from 'fast-check';
import t from 'tap';
import { createReservation, markOf, readReservation } from '../../src/features/quota/reservation.ts';

const RUNS = 500;
const text = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.string({ minLength: 1 }),
  fc.constantFrom('a b', 'a\nb', 'a=b,c=d', '%', '%2F'),
);
const usage = fc
  .array(fc.tuple(text, fc.bigInt({ min: 0n, max: 2n ** 63n })), { maxLength: 5 })
  .map((entries) => new Map(entries));
const content = fc.record(
  {
    id: text,
    mark: text,
    revision: fc.maxSafeNat(),
    object: fc.record(
      { resource: text, namespace: fc.oneof(text, fc.constant('')), name: text },
      { noNullPrototype: true },
    ),
    usage,
    seen: usage,
  },
  { noNullPrototype: true },
);

t.test('a reservation is read as it was written, from its own line', async (t) => {
  fc.assert(
    fc.property(content, (written) => {
      const { line, ...rest } = createReservation(written);
      const read = readReservation(line);
      if (line.includes('\n') || read?.line !== line) return false;
      const { line: _line, ...others } = read;
      t.strictSame(others, rest);
      return markOf(line) === line.split(' ').slice(0, 2).join(' ');
    }),
    { numRuns: RUNS },
  );
});

const word = text.map((one) => encodeURIComponent(one.toWellFormed()));
const number = fc.constantFrom('0', '7', '', 'x', '1.5', '1e99');
const amounts = fc.constantFrom('', 'a=1', 'a=1,b=2k', 'a', 'a=b', 'a=1,b', '%=1');
const likely = fc.tuple(word, word, number, word, word, word, amounts, amounts);

t.test('any other text is no reservation, or one that is written alike', async (t) => {
  fc.assert(
    fc.property(
      fc.oneof(
        text,
        likely.map((words) => words.join(' ')),
      ),
      (line) => {
        const read = readReservation(line);
        if (read === undefined) return true;
        return (
          Number.isSafeInteger(read.revision) && readReservation(createReservation(read).line) !== undefined
        );
      },
    ),
    { numRuns: RUNS },
  );
  t.pass(`${RUNS} texts`);
});
