import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { lock } from '../../../../src/cli/login/lock.ts';
import { eventually } from '../../../support/eventually.ts';

const never = new AbortController().signal;
const silent = () => {};

t.test(
  'one process at a time holds the lock, the next one when it is released; no file is left',
  async (t) => {
    const file = join(t.testdir(), 'lock');
    let inside = 0;
    let most = 0;
    const work = async () => {
      const release = await lock({ file, signal: never, onWait: silent });
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
      await release();
    };
    await Promise.all(Array.from({ length: 8 }, work));
    t.equal(most, 1);
    t.same(readdirSync(t.testdirName), []);
  },
);

t.test('a lock that its process no longer renews expires; one that is renewed is waited for', async (t) => {
  const file = join(t.testdir({ lock: 'process 7 on elsewhere\n' }), 'lock');
  for (const date of [new Date(Date.now() - 60_000), new Date(Date.now() + 3_600_000)]) {
    writeFileSync(file, '');
    utimesSync(file, date, date);
    await (await lock({ file, signal: never, onWait: silent }))();
  }
  writeFileSync(file, '');
  let waits = 0;
  const interrupted = new AbortController();
  const onWait = () => {
    waits += 1;
  };
  const ended = t.rejects(lock({ file, signal: interrupted.signal, onWait }));
  await eventually(() => waits > 0);
  interrupted.abort();
  await ended;
  t.equal(waits, 1, 'the user is told once that the command waits');
});
