/**
 * docs/tutorial.md as a reader follows it: its commands in one shell, in the testbed that the demo shows,
 * each with the output that the page promises.
 */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { browse } from '../support/oidc/scripted-browser.ts';
import { startStonegate } from '../support/stonegate.ts';

const PAGE = readFileSync('docs/tutorial.md', 'utf8');
/** The demo's default address. */
const DEMO = 'https://127.0.0.1:8443';
const NEXT = '=== the next block ===';

interface Block {
  readonly mark: string;
  readonly commands: string;
  /** Lines of the output; `…` stands for anything. */
  readonly promised: readonly string[];
}

function readBlocks(page: string): Block[] {
  const fences = /(?:<!-- (.*?) -->\n)?```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?/gs;
  return [...page.matchAll(fences)].map(([, mark = '', commands = '', promised = '']) => ({
    mark,
    commands,
    promised: promised.split('\n').filter((line) => line.trim() !== ''),
  }));
}

const blocks = readBlocks(PAGE);
const running = blocks.filter(({ mark }) => mark.startsWith('run'));

t.test('every block is run, or says why not', async (t) => {
  t.ok(running.length > 5);
  const odd = blocks.filter(({ mark }) => !/^(?:run|run fails|not run: .+)$/.test(mark));
  t.same(odd, []);
  t.equal(blocks.length, [...PAGE.matchAll(/```sh/g)].length);
});

/** In order, but other lines may stand between; blanks count as one. */
function missingLine(output: string, promised: readonly string[]): string | undefined {
  const lines = output.split('\n');
  let at = 0;
  return promised.find((line) => {
    const pattern = new RegExp(`^${line.trim().split('…').map(literally).join('.*')}$`);
    const found = lines.findIndex((each, index) => index >= at && pattern.test(each.trim()));
    at = found + 1;
    return found === -1;
  });
}

function literally(part: string): string {
  return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\s+/g, '\\s+');
}

function makeCommand(file: string, script: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o700);
}

/** The page's commands in one shell. One that fails ends it, unless the page says that it does. */
async function run(folder: string, env: Readonly<Record<string, string>>, url: string) {
  const script = running
    .map(({ mark, commands }) => {
      const real = commands.replaceAll(DEMO, url);
      return mark === 'run fails' ? `if ( ${real} ); then exit 3; fi\n` : real;
    })
    .join(`echo '${NEXT}'\n`);
  const child = spawn('bash', ['-euc', `exec 2>&1\n${script}`], { cwd: folder, env });
  const code = new Promise((done) => child.once('close', done));
  const output = await text(child.stdout);
  return { outputs: output.split(`${NEXT}\n`), code: await code };
}

t.test('following the page', { skip: findKubectls().length === 0 && NO_KUBECTL }, async (t) => {
  const folder = t.testdir();
  const stonegate = await startStonegate({ folder: join(folder, '.demo') });
  t.teardown(() => stonegate.close());
  const note = join(folder, 'page');
  makeCommand(
    join(folder, 'bin', 'stonegate'),
    `exec '${process.execPath}' '${resolve('src/main.ts')}' "$@"`,
  );
  makeCommand(
    join(folder, 'bin', 'xdg-open'),
    `printf '%s' "$1" > '${note}.part' && mv '${note}.part' '${note}'`,
  );
  const env = {
    PATH: [join(folder, 'bin'), process.env.PATH ?? ''].join(':'),
    HOME: join(folder, 'home'),
    DISPLAY: ':0',
    NODE_NO_WARNINGS: '1',
    ISSUER: stonegate.provider.issuer,
  };
  const carol = eventually(() => existsSync(note)).then(() => {
    const address = readFileSync(note, 'utf8');
    rmSync(note);
    return browse(address, { user: 'carol', password: 'carol-pass' });
  });
  const { outputs, code } = await run(folder, env, stonegate.url);
  t.equal(code, 0, 'every command succeeds', { output: outputs.join('\n') });
  for (const [index, { commands, promised }] of running.entries()) {
    const output = outputs[index] ?? '';
    t.equal(missingLine(output, promised), undefined, commands.split('\n')[0] ?? '', { output });
  }
  t.equal((await carol).status, 200);
});
