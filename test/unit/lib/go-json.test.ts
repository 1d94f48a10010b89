import t from 'tap';
import { goEscaped } from '../../../src/lib/go-json.ts';

t.test(
  'characters with a meaning in HTML or JavaScript are escaped, and the value stays the same',
  async (t) => {
    const value = { text: '<b> & "c"\u2028\u2029é\\' };
    const json = goEscaped(JSON.stringify(value));
    t.equal(json, '{"text":"\\u003cb\\u003e \\u0026 \\"c\\"\\u2028\\u2029é\\\\"}');
    t.same(JSON.parse(json), value);
  },
);

t.test('any other JSON is returned unchanged', async (t) =>
  t.equal(goEscaped('{"a":[1,null,"é"]}'), '{"a":[1,null,"é"]}'),
);
