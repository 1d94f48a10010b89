import fc from 'fast-check';
import t from 'tap';
import { jsonMistake } from '../../../src/lib/json-mistake.ts';

const PLACES = [
  ['[{"a": ["b"]},\n]', 2, 1],
  ['{"a": 1,\n  b: 2}', 2, 3],
  ['{"a": 1\n "b": 2}', 2, 2],
  ['[1, "\\x"]', 1, 5],
  ['[01]', 1, 3],
  ['[1}', 1, 3],
  ['', 1, 1],
  ['[1', 1, 3],
  ['1 2', 1, 3],
  ['{"a"}', 1, 5],
] as const;
for (const [text, line, column] of PLACES)
  t.test(`the mistake in ${JSON.stringify(text)} is found where it stands`, async (t) =>
    t.strictSame(jsonMistake(text), { line, column }),
  );

t.test('a mistake is found in every text that is no JSON, and in no other', async (t) => {
  const pieces = [
    '[',
    ']',
    '{',
    '}',
    ',',
    ':',
    '"a"',
    '"',
    '\\',
    '\\u00e9',
    '\n',
    ' ',
    '0',
    '-1.5e+3',
    '.',
    'true',
    'nul',
    '\u007f',
    '\ud800',
  ];
  const broken = fc.array(fc.constantFrom(...pieces)).map((parts) => parts.join(''));
  const cut = fc.tuple(fc.json(), fc.nat(), broken).map(([json, at, more]) => {
    const offset = at % (json.length + 1);
    return json.slice(0, offset) + more + json.slice(offset);
  });
  fc.assert(
    fc.property(fc.oneof(fc.json(), broken, cut), (text) => {
      let isJSON = true;
      try {
        JSON.parse(text);
      } catch {
        isJSON = false;
      }
      t.equal(jsonMistake(text) === undefined, isJSON, text);
    }),
    { numRuns: 2_000 },
  );
});
