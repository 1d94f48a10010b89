/**
 * Quantities are parsed, added, compared and formatted as in Kubernetes: quantities.tsv has the results of
 * its own code for random ones.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { formatOf, formatQuantity, parseQuantity } from '../../../src/kubernetes/quantity.ts';

const rows = readFileSync(new URL('quantities.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

t.test('every row has the same result as in Kubernetes', async (t) => {
  t.ok(rows.length > 1_000, 'the table has rows');
  for (const row of rows) {
    const [first = '', second = ''] = row.split('\t');
    const [one = 0n, other = 0n] = [parseQuantity(first), parseQuantity(second)];
    const canonical = formatQuantity(one, formatOf(first));
    const sum = formatQuantity(one + other, formatOf(one === 0n ? second : first));
    const order = one < other ? -1 : Number(one > other);
    t.equal([first, second, canonical, sum, order].join('\t'), row);
  }
});
