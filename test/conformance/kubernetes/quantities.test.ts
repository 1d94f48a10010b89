/**
 * Quantities are read, added, compared and printed as Kubernetes does it: quantities.tsv is what its own code
 * made of random ones.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { formatOf, formatQuantity, parseQuantity } from '../../../src/kubernetes/quantity.ts';

const rows = readFileSync(new URL('quantities.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

t.test('every row is as Kubernetes has it', async (t) => {
  t.ok(rows.length > 1_000, 'the table is there');
  for (const row of rows) {
    const [first = '', second = ''] = row.split('\t');
    const [one = 0n, other = 0n] = [parseQuantity(first), parseQuantity(second)];
    const canonical = formatQuantity(one, formatOf(first));
    const sum = formatQuantity(one + other, formatOf(one === 0n ? second : first));
    const order = one < other ? -1 : Number(one > other);
    t.equal([first, second, canonical, sum, order].join('\t'), row);
  }
});
