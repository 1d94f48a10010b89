import fc from 'fast-check';
import t from 'tap';
import { elementsOf, MalformedJSON, membersOf, stringAt, valueAt } from '../../../src/lib/json-scan.ts';

const indent = fc.constantFrom(undefined, 1, 2, '\t');

t.test('the members of any object are found with their bytes, however it is indented', async (t) => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), indent, (object, space) => {
      const text = Buffer.from(JSON.stringify(object, undefined, space));
      const found = [...membersOf(text, 0)].map(({ name, value }) => [
        name,
        JSON.parse(text.toString('utf8', value.start, value.end)),
      ]);
      t.same(found, Object.entries(JSON.parse(text.toString())));
    }),
  );
});

t.test('the elements of any array are found with their bytes', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), indent, (array, space) => {
      const text = Buffer.from(JSON.stringify(array, undefined, space));
      const found = [...elementsOf(text, 0)].map(({ start, end }) =>
        JSON.parse(text.toString('utf8', start, end)),
      );
      t.same(found, JSON.parse(text.toString()));
    }),
  );
});

t.test('a value is found by its path', async (t) => {
  const text = Buffer.from(
    '{"type":"ADDED","object":{"kind":"Pod","metadata":{"resourceVersion":"12","n":9007199254740993}}}',
  );
  t.equal(stringAt(text, ['object', 'metadata', 'resourceVersion']), '12');
  const number = valueAt(text, ['object', 'metadata', 'n']);
  t.equal(
    text.toString('utf8', number?.start, number?.end),
    '9007199254740993',
    'the number has all its digits',
  );
  t.equal(stringAt(text, ['object', 'metadata', 'absent']), undefined);
  t.equal(stringAt(text, ['type', 'metadata']), undefined, 'a string has no members to search');
  t.equal(stringAt(text, ['object', 'metadata']), undefined, 'an object is not a string');
});

t.test('text that is incomplete or not a JSON object is refused', async (t) => {
  for (const text of ['{"a":1', '{"a" 1}', '{"a":"x', '{"a":nul}', '{'])
    t.throws(() => [...membersOf(Buffer.from(text), 0)], { name: 'MalformedJSON' }, text);
  t.throws(() => [...membersOf(Buffer.from(`{"a":${'['.repeat(20_000)}`), 0)], /nested too deeply/);
});

t.test('any bytes are read to the end or refused', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const text = Buffer.concat([Buffer.from('{'), bytes]);
      try {
        for (const { value } of membersOf(text, 0)) if (value.end > text.length) return false;
      } catch (error) {
        return error instanceof MalformedJSON;
      }
      return true;
    }),
  );
  t.pass();
});
