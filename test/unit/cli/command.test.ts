/** Messages for unknown options, and output formats. */
import t from 'tap';
import { columns, outputFormat, print, runCommand } from '../../../src/cli/command.ts';
import { printedIO } from '../../support/printed-io.ts';

const OPTIONS = { force: { type: 'boolean' }, name: { type: 'string', short: 'n' } } as const;
const HINTS = new Map([['-w', 'write watch']]);

async function run(...argv: string[]) {
  const { io, printed } = printedIO();
  const command = { usage: 'Usage: stonegate try-it\n', options: OPTIONS, hints: HINTS, argv, io };
  return { code: await runCommand(command, async () => 0), ...printed };
}

const UNKNOWN: readonly (readonly [argv: readonly string[], words: string])[] = [
  [['--fource'], "unknown option '--fource'"],
  [['get', 'pods', '-x'], "unknown option '-x'"],
  [['get', 'pods', '-n', 'web', '-w'], "unknown option '-w': write watch"],
  [['-wx'], "unknown option '-w': write watch"],
  [['--force', '--password=hush'], "unknown option '--password'"],
  [['-phush'], "unknown option '-p'"],
];
for (const [argv, words] of UNKNOWN) {
  t.test(`${argv.join(' ')}: the option is named, and no more of what was typed`, async (t) => {
    t.strictSame(await run(...argv), {
      code: 2,
      stdout: '',
      stderr: `stonegate try-it: ${words}\n\nUsage: stonegate try-it\n`,
    });
  });
}

t.test('an option without its value is reported as such', async (t) => {
  const stderr =
    /^stonegate try-it: Option '-n, --name <value>' argument missing\n\nUsage: stonegate try-it\n$/;
  t.match(await run('-n'), { code: 2, stdout: '', stderr });
});

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

t.test('untrusted text cannot control the terminal', async (t) => {
  t.equal(columns([['a\u001b[31m\u202eb\n']]), 'a\ufffd[31m\ufffdb\ufffd\n');
});

t.test('output is a table, JSON or YAML', async (t) => {
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
