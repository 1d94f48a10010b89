import { hash } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { type JSONLimits, parseStrictJSON } from '../../../src/lib/strict-json.ts';

const LIMITS: JSONLimits = { depth: 16, nodes: 1000 };

function parse(text: string | Uint8Array, limits = LIMITS) {
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

t.test('two objects may have the same key', async (t) =>
  t.strictSame(parse('[{"a":{"a":1}},{"a":["a","a"]}]'), [{ a: { a: 1 } }, { a: ['a', 'a'] }]),
);

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
  t.test(`${what} is refused`, async (t) => t.throws(() => parse(text), message));

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

t.test('a text is parsed once, however many of its keys are escaped', async (t) => {
  const keys = Array.from({ length: 400 }, (_, at) => `"\\u0061${at}":1`);
  const parses = t.capture(JSON, 'parse', JSON.parse);
  parse(`{${keys.join()}}`);
  t.equal(parses().length, 1);
});

t.test('what is deeper than the limit is read as a digest of its text, whatever it holds', async (t) => {
  const within = (text: string) => parse(text, { depth: 2, deeper: 'digest', nodes: 20 });
  const deep = `{"b]":["}\\"",${'[],'.repeat(1000)}{"c":1,"c":2}]}`;
  const digest = (text: string) => hash('sha256', text);
  t.strictSame(within(`{"a":{"x":${deep},"y":[],"z":"[{"},"b":[1,${deep}]}`), {
    a: { x: digest(deep), y: digest('[]'), z: '[{' },
    b: [1, digest(deep)],
  });
  t.throws(() => within(`{"a":{"x":${deep},"x":1}}`), /twice/);
  t.throws(() => within(`{"a":{"x":${deep.slice(0, -1)}`), /JSON/);
});
