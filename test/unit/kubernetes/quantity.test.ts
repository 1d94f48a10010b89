import fc from 'fast-check';
import t from 'tap';
import { formatQuantity, ONE, parseQuantity, readResourceList } from '../../../src/kubernetes/quantity.ts';

const LARGEST = 2n ** 63n - 1n;

t.test('a quantity is a JSON string or number', async (t) => {
  for (const [value, nanos] of [
    ['1500m', 1_500_000_000n],
    [2, 2n * ONE],
    [0.25, ONE / 4n],
    [1e21, LARGEST * ONE],
    ['1e-99999', 1n],
    ['-1e-99999', -1n],
    [`1e${'9'.repeat(40)}`, LARGEST * ONE],
    ['-16Ei', -LARGEST * ONE],
  ] as const)
    t.equal(parseQuantity(value), nanos, String(value));
});

t.test('any other value is not a quantity', async (t) => {
  for (const value of ['', '.', '+', 'Ki', '1ki', '1 Gi', '1e', '1.2.3', '0x1', 'NaN', '9'.repeat(65)])
    t.equal(parseQuantity(value), undefined, value);
  for (const value of [null, undefined, true, {}, ['1'], Number.NaN, Number.POSITIVE_INFINITY])
    t.equal(parseQuantity(value), undefined, String(value));
});

t.test('a malformed amount in a list of resources counts as larger than any quota', async (t) => {
  t.strictSame(
    [...readResourceList({ cpu: '1', memory: 'much' })],
    [
      ['cpu', ONE],
      ['memory', LARGEST * ONE],
    ],
  );
  t.equal(readResourceList(['1']).size, 0);
});

t.test('a printed quantity is read back as the same quantity', async () => {
  const formats = fc.constantFrom('decimal', 'binary', 'exponent');
  const nanos = fc.oneof(
    fc.bigInt({ min: -LARGEST * ONE, max: LARGEST * ONE }),
    fc.tuple(fc.bigInt({ min: 1n, max: 2_000n }), fc.nat(5)).map(([n, k]) => n * ONE * 1024n ** BigInt(k)),
    fc.tuple(fc.bigInt({ min: 1n, max: 2_000n }), fc.nat(15)).map(([n, k]) => n * 10n ** BigInt(k)),
  );
  fc.assert(
    fc.property(nanos, formats, (value, format) => parseQuantity(formatQuantity(value, format)) === value),
  );
});

t.test('no text throws, takes long, or exceeds the range', async () => {
  const unit = fc.constantFrom('1', '0', '9', '.', '-', '+', 'e', 'E', 'K', 'i', 'm', 'n');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 100 }), (text) => {
      const nanos = parseQuantity(text) ?? 0n;
      return nanos <= LARGEST * ONE && nanos >= -LARGEST * ONE;
    }),
  );
});
