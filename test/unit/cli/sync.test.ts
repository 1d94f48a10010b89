import { join } from 'node:path';
import t from 'tap';
import { heldBackLine } from '../../../src/cli/reconcile.ts';
import { sync } from '../../../src/cli/sync.ts';
import { printedIO } from '../../support/printed-io.ts';

async function run(...argv: readonly string[]) {
  const { io, printed } = printedIO();
  const code = await sync(argv, io, async () => 0);
  return { code, ...printed };
}

t.test('without a configuration, or with what it does not know, it is wrong usage', async (t) => {
  t.match(await run(), { code: 2, stderr: /--config FILE is required/ });
  t.match(await run('everything', '--config', 'x'), { code: 2, stderr: /unexpected argument "everything"/ });
  t.match(await run('--prune'), { code: 2 });
});

t.test('--help says how it is used', async (t) => {
  t.match(await run('--help'), { code: 0, stdout: /--dry-run/ });
});

t.test('a configuration that is not good is a 1 with its problems', async (t) => {
  const folder = t.testdir({ 'stonegate.yaml': 'kind: Other\n' });
  t.match(await run('--config', join(folder, 'stonegate.yaml')), { code: 1, stderr: /^kind.*expected/m });
});

t.test(
  'removals that are held back are reported with their namespaces, each with its own numbers',
  async (t) => {
    const losses = [
      { place: { tenant: 'acme', namespace: 'web' }, going: 40, there: 50 },
      { place: { tenant: 'acme' }, going: 2, there: 2 },
    ];
    t.match(heldBackLine(losses), /^42 removals .*: acme\/web \(40 of 50\), acme \(2 of 2\)\n$/);
  },
);

t.test('of many namespaces with removals that are held back a few are named', async (t) => {
  const losses = Array.from({ length: 8 }, (_, at) => ({
    place: { namespace: `p${at}` },
    going: 2,
    there: 2,
  }));
  const line = heldBackLine(losses);
  t.match(line, /p4 \(2 of 2\), and 3 more\n$/);
  t.notMatch(line, 'p5');
});
