import t from 'tap';
import { columns, createCommand, OUTPUT_OPTION, print } from '../../../src/cli/command.ts';
import { printedBy } from '../../support/printed-io.ts';

const OPTIONS = {
  force: { type: 'boolean' },
  name: { type: 'string', short: 'n' },
  output: OUTPUT_OPTION,
} as const;

const tryIt = createCommand({ usage: 'Usage: stonegate try-it\n', options: OPTIONS }, async () => 0);

const run = (...argv: string[]) => printedBy(tryIt, argv);

const WRONG: readonly (readonly [argv: readonly string[], mistake: string])[] = [
  [['--fource'], "Unknown option '--fource'; did you mean --force?"],
  [['-phush'], "Unknown option '-p'"],
  [['word'], 'unexpected argument "word"'],
  [['-o', 'xml'], '--output is table, json, yaml; not "xml"'],
  [['-n'], "Option '-n, --name <value>' argument missing"],
];
for (const [argv, mistake] of WRONG) {
  t.test(
    `${argv.join(' ')}: the error names the mistake, and does not repeat the value of an option`,
    async (t) => {
      const stderr = `stonegate try-it: ${mistake}\nSee: stonegate try-it --help\n`;
      t.strictSame(await run(...argv), { code: 2, stdout: '', stderr });
    },
  );
}

t.test('columns are aligned, and the last one is not padded', async (t) => {
  t.equal(
    columns([
      ['a', 'long', 'x'],
      ['bbb', 'c', 'yy'],
      ['d', '', ''],
    ]),
    'a    long  x\nbbb  c     yy\nd\n',
  );
});

t.test('untrusted text cannot control the terminal', async (t) => {
  t.equal(columns([['a\u001b[31m\u202eb\n']]), 'a\ufffd[31m\ufffdb\ufffd\n');
});

t.test('output is a table, JSON or YAML', async (t) => {
  const printed: string[] = [];
  for (const format of [undefined, 'table', 'json', 'yaml'])
    await print(
      { a: [1] },
      format,
      () => 'table',
      (text) => printed.push(text),
    );
  t.strictSame(printed, ['table', 'table', '{\n  "a": [\n    1\n  ]\n}\n', 'a:\n  - 1\n']);
});
