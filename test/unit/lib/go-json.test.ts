import t from 'tap';
import { goEscaped } from '../../../src/lib/go-json.ts';

t.test('what HTML or JavaScript would read differently is escaped; the value stays', async (t) => {
  const value = { text: '<b> & "c"\u2028\u2029é\\' };
  const json = goEscaped(JSON.stringify(value));
  t.equal(json, '{"text":"\\u003cb\\u003e \\u0026 \\"c\\"\\u2028\\u2029é\\\\"}');
  t.same(JSON.parse(json), value);
});

t.test('any other JSON is returned as it is', async (t) => {
  t.equal(goEscaped('{"a":[1,null,"é"]}'), '{"a":[1,null,"é"]}');
});
