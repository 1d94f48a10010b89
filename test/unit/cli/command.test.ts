import fc from 'fast-check';
import t from 'tap';
import { parse as parseYAML } from 'yaml';
import { columns, createCommand, OUTPUT_OPTION, print } from '../../../src/cli/command.ts';
import { printedBy } from '../../support/printed-io.ts';

const OPTIONS = {
  force: { type: 'boolean' },
  name: { type: 'string', short: 'n' },
  output: OUTPUT_OPTION,
} as const;

const tryIt = createCommand({ usage: 'Usage: stonegate try-it\n', options: OPTIONS }, async () => 0);

const run = (...argv: string[]) => printedBy(tryIt, argv);

const WRONG = [
  [['--fource'], "Unknown option '--fource'; did you mean --force?"],
  [['-phush'], "Unknown option '-p'"],
  [['word'], 'unexpected argument "word"'],
  [['-o', 'xml'], '--output is table, json, yaml; not "xml"'],
  [['-n'], "Option '-n, --name <value>' argument missing"],
] as const;
for (const [argv, mistake] of WRONG)
  t.test(
    `${argv.join(' ')}: the error names the mistake, and does not repeat the value of an option`,
    async (t) => {
      const stderr = `stonegate try-it: ${mistake}\nSee: stonegate try-it --help\n`;
      t.strictSame(await run(...argv), { code: 2, stdout: '', stderr });
    },
  );

t.test('a table fits the width of the terminal: the widest columns are cut in their middle', async (t) => {
  const rows = [
    ['TYPE', 'NAME', 'FROM'],
    ['User', 'alice', 'RoleBinding stonegate-member-0123456789abcdef0123456789abcdef (view)'],
  ];
  const lines = columns(rows, 40).split('\n');
  t.equal(lines[1], 'User  alice  RoleBinding s…abcdef (view)');
  t.equal(lines[1]?.length, 40);
  for (const width of [undefined, 200])
    t.match(columns(rows, width), rows[1]?.[2], 'nothing is cut for a script');
});

t.test('columns are aligned, and the last one is not padded', async (t) =>
  t.equal(
    columns([
      ['a', 'long', 'x'],
      ['bbb', 'c', 'yy'],
      ['d', '', ''],
    ]),
    'a    long  x\nbbb  c     yy\nd\n',
  ),
);

t.test('untrusted text cannot control the terminal', async (t) =>
  t.equal(columns([['a\u001b[31m\u202eb\n']]), 'a\ufffd[31m\ufffdb\ufffd\n'),
);

const untrusted = fc
  .array(
    fc.oneof(
      fc.constantFrom('\u001b[2J', '\r', '\n', '\t', '\u0085', '\u202e', '\u{e0001}', '"', "'", ': ', '# '),
      fc.string(),
    ),
  )
  .map((parts) => parts.join('').toWellFormed());

t.test('no command prints what controls the terminal, and JSON and YAML keep the value', async (t) => {
  await fc.assert(
    fc.asyncProperty(untrusted, untrusted, async (name, text) => {
      const value = { [`k${name}`]: [text, { [`l${text}`]: name }] };
      const printing = createCommand(
        { usage: 'Usage: stonegate try-it\n', options: OPTIONS },
        async ({ values, io }) => {
          io.stderr(text);
          await print(value, values.output, () => `${text}\n${columns([[name, text]])}`, io.stdout);
        },
      );
      const parse = { table: undefined, json: JSON.parse, yaml: (printed: string) => parseYAML(printed) };
      for (const [format, parsed] of Object.entries(parse)) {
        const { stdout, stderr } = await printedBy(printing, ['-o', format]);
        t.notMatch(stdout + stderr, /(?!\r?\n|\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, 'a control character');
        if (parsed !== undefined) t.strictSame(parsed(stdout), value);
      }
    }),
  );
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
