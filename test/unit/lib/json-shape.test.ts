import t from 'tap';
import {
  faultOf,
  isBoolean,
  isExactly,
  isFiniteNumber,
  isListOf,
  isObjectOf,
  isOneOf,
  isOptional,
  isRecordOf,
  isText,
  parseShape,
} from '../../../src/lib/json-shape.ts';

interface Point {
  readonly name: string;
  readonly x: number;
  readonly hidden?: boolean;
}

const isPoint = isObjectOf<Point>({ name: isText, x: isFiniteNumber, hidden: isOptional(isBoolean) });

t.test('an object has all members of its shape; an optional one may be absent', async (t) => {
  t.ok(isPoint({ name: 'a', x: 1 }));
  t.ok(isPoint({ name: 'a', x: 1, hidden: true }));
  for (const other of [
    null,
    [],
    'a',
    {},
    { name: 'a' },
    { name: 'a', x: '1' },
    { name: 'a', x: 1, hidden: 1 },
  ])
    t.notOk(isPoint(other), JSON.stringify(other));
});

t.test('what is wrong with a value is said with the member in which it is', async (t) => {
  const isRoute = isObjectOf<{ readonly kind: string; readonly points: readonly Point[] }>({
    kind: isExactly('road', 'path'),
    points: isListOf(isPoint),
  });
  const point = { name: 'a', x: 1 };
  for (const [value, fault] of [
    [{ kind: 'road', points: [point] }, undefined],
    [{ kind: 'river', points: [point] }, 'route.kind is none of road, path'],
    [{ points: [point] }, 'route.kind is missing'],
    [{ kind: 'road', points: {} }, 'route.points is no list'],
    [{ kind: 'road', points: [point, 1] }, 'route.points[1] is no object'],
    [{ kind: 'road', points: [{ ...point, name: 1 }] }, 'route.points[0].name is no text'],
    [{ kind: 'road', points: [{ ...point, x: '1' }] }, 'route.points[0].x is wrong'],
    [
      { kind: 'road', points: [{ ...point, ['\n'.repeat(64)]: 1 }] },
      `route.points[0] has a field that is not known: "${'\\n'.repeat(63)}"`,
    ],
  ])
    t.equal(faultOf(isRoute, value, 'route'), fault);
});

t.test('an object with a member that is not known is refused', async (t) => {
  t.notOk(isPoint({ name: 'a', x: 1, onlyFor: 'bob' }));
  for (const name of ['toString', 'constructor', '__proto__'])
    t.equal(parseShape(`{"name":"a","x":1,"${name}":{}}`, isPoint), undefined, name);
});

t.test('an inherited member counts as absent', async (t) => {
  t.notOk(
    isObjectOf<{ toString: unknown }>({ toString: (value): value is unknown => value !== undefined })({}),
  );
});

t.test('lists, records, alternatives and constants', async (t) => {
  t.ok(isListOf(isText)(['a']));
  t.notOk(isListOf(isText)(['a', 1]));
  t.notOk(isListOf(isText)({ 0: 'a', length: 1 }));
  t.ok(isRecordOf(isText)({ any: 'a' }));
  t.notOk(isRecordOf(isText)({ any: 1 }));
  t.notOk(isRecordOf(isText)(['a']));
  const isEither = isOneOf<string | boolean>(isText, isBoolean);
  t.ok(isEither('a') && isEither(false));
  t.notOk(isEither(1));
  t.ok(isExactly('a', 'b')('b'));
  t.notOk(isExactly('a', 'b')('c'));
  for (const other of [Number.NaN, Number.POSITIVE_INFINITY, '1', null]) t.notOk(isFiniteNumber(other));
});

t.test('text that is not JSON, or of another shape, is not parsed', async (t) => {
  t.same(parseShape('{"name":"a","x":1}', isPoint), { name: 'a', x: 1 });
  for (const text of ['', '{', 'null', '{"name":"a"}']) t.equal(parseShape(text, isPoint), undefined);
});
