import t from 'tap';
import { SingleFlight } from '../../../src/lib/single-flight.ts';

t.test('concurrent calls with the same key share one run; later calls start another', async (t) => {
  const flight = new SingleFlight<number>();
  let runs = 0;
  const work = async () => {
    runs += 1;
    return runs;
  };
  t.same(
    await Promise.all([flight.do('k', work), flight.do('k', work), flight.do('other', work)]),
    [1, 1, 2],
  );
  t.equal(await flight.do('k', work), 3);
  t.equal(flight.size, 0);
});

t.test('an error reaches all waiting callers, and is not cached', async (t) => {
  const flight = new SingleFlight<number>();
  const fails = () => Promise.reject(new Error('down'));
  const both = await Promise.allSettled([flight.do('k', fails), flight.do('k', fails)]);
  t.same(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  t.equal(await flight.do('k', async () => 1), 1);
});
