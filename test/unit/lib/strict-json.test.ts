import fc from 'fast-check';
import t from 'tap';
import { parseStrictJSON } from '../../../src/lib/strict-json.ts';

const LIMITS = { depth: 16, nodes: 1000 };

function parse(text: string | Uint8Array, limits = LIMITS): unknown {
  return parseStrictJSON(typeof text === 'string' ? Buffer.from(text) : text, limits);
}

t.test('any JSON value is read as JSON.parse reads it', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value);
      t.strictSame(parse(text, { depth: 100, nodes: 1e6 }), JSON.parse(text));
    }),
  );
});

t.test('a key that occurs twice in one object is refused, however it is escaped', async (t) => {
  const key = fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text));
  const escaped = (quoted: string) =>
    `"${[...String(JSON.parse(quoted))]
      .flatMap((char) => char.split(''))
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('')}"`;
  const inside = fc.constantFrom<[string, string]>(['', ''], ['[', ']'], ['{"a":1,"b":', '}'], ['[[],', ']']);
  fc.assert(
    fc.property(key, fc.boolean(), fc.jsonValue(), inside, (name, differently, value, [before, after]) => {
      const second = differently ? escaped(name) : name;
      const text = `${before}{${name}:1, "~other":${JSON.stringify(value)}, ${second} : 2}${after}`;
      t.throws(() => parse(text, { depth: 100, nodes: 1e6 }), /twice|half of a surrogate/);
    }),
  );
});

t.test('two objects may have the same key', async (t) => {
  t.strictSame(parse('[{"a":{"a":1}},{"a":["a","a"]}]'), [{ a: { a: 1 } }, { a: ['a', 'a'] }]);
});

t.test('__proto__ is a key like any other', async (t) => {
  const value = parse('{"__proto__":{"x":1}}');
  t.equal(JSON.stringify(value), '{"__proto__":{"x":1}}');
});

for (const [what, text, message] of [
  ['an unpaired surrogate', String.raw`{"a":"\ud800"}`, /surrogate/],
  ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22]), /UTF-8/],
  ['a byte order mark', '\ufeff{}', /JSON/],
  ['a second value', '{}{}', /JSON/],
  ['an unterminated string', '{"a', /JSON/],
  ['nesting that is too deep', '['.repeat(17) + ']'.repeat(17), /deep/],
  ['too many values', `[${'1,'.repeat(1000)}1]`, /too many/],
] as const)
  t.test(`${what} is refused`, async (t) => {
    t.throws(() => parse(text), message);
  });

t.test('an error message contains nothing of the text', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array(), (noise) => {
      try {
        parse(Buffer.concat([Buffer.from('secret'), noise]));
      } catch (error) {
        t.ok(error instanceof SyntaxError);
        t.notMatch(String(error), /secret/);
      }
    }),
  );
});

t.test('of text that is not JSON, each key is read once, however many colons follow it', async (t) => {
  const reads = t.capture(JSON, 'parse', JSON.parse);
  t.throws(() => parse(`{"\\u0061":${'{:}'.repeat(100)}}`), SyntaxError);
  // The key, and the whole text.
  t.equal(reads().length, 2);
});
