import { execFileSync } from 'node:child_process';
import t from 'tap';
import { typed } from '../../../../src/cli/login/terminal.ts';

t.test('words that a shell would split or expand are quoted', async (t) => {
  const words = ["it's", 'a b', '$HOME', '~/ca.crt', '--ca-file=~/ca.crt', '', '`id`', 'a;b', '"', '*'];
  const shown = typed(words).replace(/^stonegate login(.*) >.*/, "printf '%s\\n'$1");
  t.same(execFileSync('sh', ['-c', shown], { encoding: 'utf8' }).split('\n').slice(0, -1), words);
});

t.test('text from a kubeconfig cannot control the terminal', async (t) =>
  t.notMatch(typed(['\u001b[2J']), '\u001b'),
);
