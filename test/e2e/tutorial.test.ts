/**
 * docs/tutorial.md as a reader follows it: its commands in one shell, with the demo running, each with the
 * output that the page promises.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openPlayground } from '../../demo/playground.ts';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { browse } from '../support/oidc/scripted-browser.ts';
import { makeCommand, missingLine, readBlocks, readersShell, runShell } from '../support/page-commands.ts';

const PAGE = 'docs/tutorial.md';
/** The demo's default address. */
const DEMO = 'https://127.0.0.1:8443';
const NEXT = '=== the next block ===';

const blocks = readBlocks(PAGE);
const running = blocks.filter(({ mark }) => mark.startsWith('run'));

t.test('every block is run, or says why not', async (t) => {
  t.ok(running.length > 5);
  const odd = blocks.filter(({ mark }) => !/^(?:run|run fails|not run: .+)$/.test(mark));
  t.same(odd, []);
  t.equal(blocks.length, [...readFileSync(PAGE, 'utf8').matchAll(/```sh/g)].length);
});

/** Runs the page's commands in one shell, which ends if one fails, unless the page says that it fails. */
async function run(shell: ReturnType<typeof readersShell>, url: string) {
  const script = running
    .map(({ mark, commands }) => {
      const real = commands.replaceAll(DEMO, url);
      return mark === 'run fails' ? `if ( ${real} ); then exit 3; fi\n` : real;
    })
    .join(`echo '${NEXT}'\n`);
  const { output, code } = await runShell(shell, script);
  return { outputs: output.split(`${NEXT}\n`), code };
}

t.test('a reader can follow the page', { skip: findKubectls().length === 0 && NO_KUBECTL }, async (t) => {
  const folder = t.testdir();
  const demo = await openPlayground({ folder: join(folder, '.demo'), mode: 'shared' });
  t.teardown(() => demo.close());
  const note = join(folder, 'page');
  const { env } = readersShell(folder);
  makeCommand(
    join(folder, 'bin', 'xdg-open'),
    `printf '%s' "$1" > '${note}.part' && mv '${note}.part' '${note}'`,
  );
  const carol = eventually(() => existsSync(note)).then(() => {
    const address = readFileSync(note, 'utf8');
    rmSync(note);
    return browse(address, { user: 'carol', password: 'carol-pass' });
  });
  const shell = { folder, env: { ...env, DISPLAY: ':0' } };
  const { outputs, code } = await run(shell, demo.url);
  t.equal(code, 0, 'every command succeeds', { output: outputs.join('\n') });
  for (const [index, { commands, promised }] of running.entries()) {
    const output = outputs[index] ?? '';
    t.equal(missingLine(output, promised), undefined, commands.split('\n')[0] ?? '', { output });
  }
  t.equal((await carol).status, 200);
});
