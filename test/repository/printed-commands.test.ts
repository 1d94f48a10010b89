/**
 * No command that Stonegate prints for a shell may cost users a file: a shell empties the target of `>`
 * before the command runs, whether it then fails or not.
 */
import { globSync, readFileSync } from 'node:fs';
import t from 'tap';

/** `> FILE` and `mv … FILE` where FILE is below the home folder, or the file that kubectl reads. */
const OVERWRITES = /(?:[^>&2]>|\bmv\b[^\n]*|\bcp\b[^\n]*|\btee\b)\s*"?(?:~|\$\{?(?:HOME|KUBECONFIG)\b)/;
/** It writes all credentials of all clusters; the usual next step is to move that over `~/.kube/config`. */
const FLATTENS = /kubectl config view[^\n]*(?:--flatten|--raw)[^\n]*>/;

const PRINTED = globSync([
  '*.md',
  'docs/**/*.md',
  'src/**/*.ts',
  'demo/**/*.ts',
  'config/**/*.{txt,yaml,tpl,md}',
]);

t.test('the rule finds what it is about', async (t) => {
  for (const command of [
    'kubectl config view --flatten > ~/.kube/config',
    'KUBECONFIG=~/.kube/config:new kubectl config view --flatten > merged',
    'mv merged ~/.kube/config',
    'curl -s https://x.example/kubeconfig > $HOME/.kube/config',
    'cat new | tee $KUBECONFIG',
  ])
    t.ok(OVERWRITES.test(command) || FLATTENS.test(command), command);
  for (const command of [
    'stonegate kubeconfig --server URL',
    'curl -fO https://x.example',
    'stonegate login >/dev/null',
  ])
    t.notOk(OVERWRITES.test(command) || FLATTENS.test(command), command);
});

t.test('no printed command overwrites a file of the user’s home', async (t) => {
  t.ok(PRINTED.length > 100);
  for (const file of PRINTED) {
    const lines = readFileSync(file, 'utf8').split('\n');
    const bad = lines.flatMap((line, at) =>
      OVERWRITES.test(line) || FLATTENS.test(line) ? [`${at + 1}: ${line}`] : [],
    );
    t.same(bad, [], file);
  }
});
