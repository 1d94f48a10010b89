import { join } from 'node:path';
import t from 'tap';
import { sync } from '../../../src/cli/sync.ts';

async function run(...argv: readonly string[]) {
  const printed = { stdout: '', stderr: '' };
  const io = {
    stdout: (text: string) => {
      printed.stdout += text;
    },
    stderr: (text: string) => {
      printed.stderr += text;
    },
  };
  const code = await sync(argv, io, { withProvisioning: async () => 0 });
  return { code, ...printed };
}

t.test('without a configuration, or with what it does not know, it is wrong usage', async (t) => {
  t.match(await run(), { code: 2, stderr: /--config FILE is required/ });
  t.match(await run('everything', '--config', 'x'), { code: 2, stderr: /unexpected argument everything/ });
  t.match(await run('--prune'), { code: 2 });
});

t.test('--help says how it is used', async (t) => {
  t.match(await run('--help'), { code: 0, stdout: /--dry-run/ });
});

t.test('a configuration that is not good is a 1 with its problems', async (t) => {
  const folder = t.testdir({ 'stonegate.yaml': 'kind: Other\n' });
  t.match(await run('--config', join(folder, 'stonegate.yaml')), { code: 1, stderr: /^kind.*expected/m });
});
