import t from 'tap';
import { nodeProblem, version } from '../../../src/cli/version.ts';

t.test('if Node is too old, one line says so', async (t) => {
  t.equal(nodeProblem('20.20.2'), 'stonegate needs Node 22.19 or newer, this is 20.20.2');
  t.match(nodeProblem('22.18.0'), /22\.18\.0/);
  for (const node of ['22.19.0', '23.0.0', '24.21.0']) t.equal(nodeProblem(node), undefined, node);
});

t.test('the version is that of the package', async (t) => t.match(await version(), /^\d+\.\d+\.\d+/));
