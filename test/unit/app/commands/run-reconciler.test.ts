import t from 'tap';
import { heldBackLine } from '../../../../src/app/commands/run-reconciler.ts';

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
