import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { lock } from '../../../../src/cli/login/lock.ts';
import { eventually } from '../../../support/eventually.ts';

function locking(file: string, signal = new AbortController().signal) {
  let waits = 0;
  const onWait = () => {
    waits += 1;
  };
  return { waits: () => waits, taken: lock({ file, signal, onWait }) };
}

t.test('one at a time, the next when it is released, and no file is left', async (t) => {
  const file = join(t.testdir(), 'lock');
  let inside = 0;
  let most = 0;
  const work = async () => {
    const release = await locking(file).taken;
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => setImmediate(resolve));
    inside -= 1;
    await release();
  };
  await Promise.all(Array.from({ length: 8 }, work));
  t.equal(most, 1);
  t.same(readdirSync(t.testdirName), []);
});

t.test('the lock of a process that no longer renews it ends', async (t) => {
  const file = join(t.testdir(), 'lock');
  for (const date of [new Date(Date.now() - 60_000), new Date(Date.now() + 3_600_000)]) {
    writeFileSync(file, 'process 7 on elsewhere\n');
    utimesSync(file, date, date);
    const release = await locking(file).taken;
    await release();
  }
});

t.test('a lock that was renewed is waited for, and the user is told once', async (t) => {
  const file = join(t.testdir(), 'lock');
  const now = new Date();
  writeFileSync(file, '');
  utimesSync(file, now, now);
  const interrupted = new AbortController();
  const { waits, taken } = locking(file, interrupted.signal);
  const ended = t.rejects(taken);
  await eventually(() => waits() > 0);
  interrupted.abort();
  await ended;
  t.equal(waits(), 1);
});

t.test('a folder in which nothing can be made is said', async (t) => {
  await t.rejects(locking(join(t.testdir(), 'missing', 'lock')).taken, { message: /^cannot lock / });
});
