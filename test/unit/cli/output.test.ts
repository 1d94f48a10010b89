import t from 'tap';
import { columns, outputFormat, print } from '../../../src/cli/output.ts';

t.test('columns line up, the last one ends where it ends', async (t) => {
  t.equal(
    columns([
      ['a', 'long', 'x'],
      ['bbb', 'c', 'yy'],
      ['d', '', ''],
    ]),
    'a    long  x\nbbb  c     yy\nd\n',
  );
});

t.test('what a stranger wrote cannot steer the terminal', async (t) => {
  t.equal(columns([['a\u001b[31m\u202eb\n']]), 'a\ufffd[31m\ufffdb\ufffd\n');
});

t.test('programs get JSON or YAML, people a table', async (t) => {
  const printed: string[] = [];
  for (const format of [undefined, 'table', 'json', 'yaml'])
    await print(
      { a: [1] },
      outputFormat(format),
      () => 'table',
      (text) => printed.push(text),
    );
  t.strictSame(printed, ['table', 'table', '{\n  "a": [\n    1\n  ]\n}\n', 'a:\n  - 1\n']);
  t.throws(() => outputFormat('xml'), { message: '-o is table, json or yaml, not "xml"' });
});
