/** How soon a dead worker is replaced. */
import t from 'tap';
import { RestartBackoff } from '../../../src/server/restart-backoff.ts';

t.test('a worker that dies once is replaced at once, a crash loop is slowed to half a minute', async (t) => {
  const backoff = new RestartBackoff();
  const delays = Array.from({ length: 12 }, () => backoff.died(50));
  t.same(delays.slice(0, 4), [100, 200, 400, 800]);
  t.equal(delays.at(-1), 30_000);
});

t.test('a worker that lived well starts with a clean record', async (t) => {
  const backoff = new RestartBackoff();
  for (let deaths = 0; deaths < 12; deaths += 1) backoff.died(50);
  t.equal(backoff.died(60_000), 100);
  t.equal(backoff.died(50), 100);
});
