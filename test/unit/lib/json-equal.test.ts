import fc from 'fast-check';
import t from 'tap';
import { isEqual } from '../../../src/lib/json-equal.ts';

t.test('values of different types differ', async (t) => {
  const values = [undefined, null, true, false, 0, 1, '', '0', [], [null], {}, { a: 1 }, { a: null }];
  for (const a of values) for (const b of values) t.equal(isEqual(a, b), a === b, JSON.stringify([a, b]));
});

t.test('members of the object prototype are not keys', async (t) => {
  t.notOk(isEqual(JSON.parse('{"__proto__":{}}'), { a: {} }));
  t.notOk(isEqual({ a: 1 }, { constructor: 1 }));
  t.ok(isEqual(JSON.parse('{"__proto__":{"a":[1]}}'), JSON.parse('{"__proto__":{"a":[1]}}')));
  t.notOk(isEqual(JSON.parse('{"__proto__":{"a":[1]}}'), JSON.parse('{"__proto__":{"a":[2]}}')));
});

t.test('the depth is not bounded', async (t) => {
  const deep = (inner: string): unknown => JSON.parse(`${'['.repeat(100_000)}${inner}${']'.repeat(100_000)}`);
  t.ok(isEqual(deep('1'), deep('1')));
  t.notOk(isEqual(deep('1'), deep('2')));
});

t.test('any value equals its copy with its keys in another order, and no other', async () => {
  const reversed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reversed);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, each]) => [key, reversed(each)] as const);
    return Object.fromEntries(entries.reverse());
  };
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const differ = JSON.stringify(a) !== JSON.stringify(b);
      return isEqual(a, reversed(a)) && (differ || isEqual(a, b)) && (!isEqual(a, b) || isEqual(b, a));
    }),
  );
});
