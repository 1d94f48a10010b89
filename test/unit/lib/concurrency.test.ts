import t from 'tap';
import { forEachInTurns } from '../../../src/lib/concurrency.ts';

t.test('other events are handled between parts of a long task', async (t) => {
  const order: string[] = [];
  setImmediate(() => order.push('event'));
  await forEachInTurns([1, 2, 3, 4], 2, (item) => order.push(`item ${item}`));
  t.strictSame(order, ['item 1', 'item 2', 'event', 'item 3', 'item 4']);
});
