/** The expected texts are those that Go prints with `%q`. */
import t from 'tap';
import { goQuoted } from '../../../src/lib/go-quoted.ts';

t.test('text is quoted as Go quotes it', async (t) => {
  const printed: readonly [string, string][] = [
    ['alice', '"alice"'],
    ['', '""'],
    ['a "b" \\', '"a \\"b\\" \\\\"'],
    ['zoë 日本 🙂', '"zoë 日本 🙂"'],
    ['\u0007\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"'],
    ['\u0001\u007f', '"\\x01\\x7f"'],
    ['\u0085\u00a0\u00ad\u200b\u2028', '"\\u0085\\u00a0\\u00ad\\u200b\\u2028"'],
    ['\u{e0001}', '"\\U000e0001"'],
    ['\ud800', '"\ufffd"'],
  ];
  for (const [text, quoted] of printed) t.equal(goQuoted(text), quoted);
});
