/** `stonegate completion` in real shells: what the user types, and how the shell completes it. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { runStonegateCalls } from '../support/stonegate-process.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** What is typed, with tabs, and the line that the shell then runs. */
const TYPED = [
  ['who-c\t', 'who-can'],
  ['who-can deletec\t pods --peo\t', 'who-can deletecollection pods --people'],
  ['whoami -o ya\t', 'whoami -o yaml'],
  ['manifests adm\t --ca-file a-fi\t', 'manifests admission --ca-file a-file'],
  ['kubeconfig --server a -- --os-clo\t', 'kubeconfig --server a -- --os-cloud'],
  ['help kub\t', 'help kubeconfig'],
  ['token create --sc\t read --rules a-fi\t', 'token create --scope read --rules a-file'],
  // Secrets cannot be given as options.
  ['login --os-pass\t', 'login --os-pass'],
] as const;

const scripts = await runStonegateCalls(SHELLS.map((shell) => ['completion', shell]));
const scriptFor = (shell: (typeof SHELLS)[number]) => scripts[SHELLS.indexOf(shell)]?.stdout ?? '';
const missing = (shell: string) =>
  spawnSync(shell, ['--version']).status === 0
    ? false
    : `${shell} is not installed: apt-get install ${shell}`;

const INTERACTIVE = {
  bash: { file: '.bashrc', command: 'bash --rcfile .bashrc -i' },
  zsh: { file: '.zshrc', command: 'zsh -i' },
} as const;

for (const shell of ['bash', 'zsh'] as const)
  t.test(`${shell} completes commands, options, words and files`, { skip: missing(shell) }, async (t) => {
    const { file, command } = INTERACTIVE[shell];
    const folder = t.testdir({ 'a-file': '' });
    writeFileSync(join(folder, file), `${scriptFor(shell)}PS1='$ '\nstonegate() { echo "completed: $*"; }\n`);
    const lines = [...TYPED.map(([typed]) => `stonegate ${typed}\n`), 'exit\n'].join('');
    const { stdout } = spawnSync('script', ['-qefc', command, '/dev/null'], {
      ...{ cwd: folder, input: lines, encoding: 'utf8' },
      env: { PATH: process.env.PATH, HOME: folder, TERM: 'dumb', SHELL: '/bin/sh' },
    });
    t.same(
      [...stdout.matchAll(/^completed: (.*?)\s*$/gm)].map(([, line]) => line),
      TYPED.map(([, completed]) => completed),
    );
  });

t.test('fish completes commands, options, words and files', { skip: missing('fish') }, async (t) => {
  const folder = t.testdir({ 'a-file': '', script: scriptFor('fish') });
  const candidates = (typed: string) => {
    const asked = `source script; complete -C ${JSON.stringify(`stonegate ${typed}`)}`;
    const { stdout } = spawnSync('fish', ['--no-config', '-c', asked], { cwd: folder, encoding: 'utf8' });
    return stdout.split('\n').filter((line) => line !== '');
  };
  t.same(candidates('who-c'), ['who-can\tlist who may do something in the cluster']);
  t.same(candidates('who-can deletec'), ['deletecollection']);
  t.same(candidates('whoami -o '), ['json', 'table', 'yaml']);
  t.same(candidates('manifests admission --ca-file a-f'), ['a-file']);
  t.same(candidates('token create --exp'), ['--expires']);
  t.same(candidates('login --os-pass'), []);
});
