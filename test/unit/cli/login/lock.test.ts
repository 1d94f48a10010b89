import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { lock } from '../../../../src/cli/login/lock.ts';
import { eventually } from '../../../support/eventually.ts';

function locking(file: string, signal = new AbortController().signal) {
  const waits: string[] = [];
  return { waits, taken: lock({ file, signal, onWait: (owner) => waits.push(owner) }) };
}

/** The number of a process that has ended. */
async function endedProcess(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  return child.pid ?? 0;
}

const contentOf = (fields: object) => JSON.stringify({ host: hostname(), ...fields });

/** Takes it eight times at once; the most that had it at one time. */
async function mostAtOnce(file: string): Promise<number> {
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
  return most;
}

t.test('one at a time, the next when it is given back', async (t) => {
  const file = join(t.testdir(), 'lock');
  t.equal(await mostAtOnce(file), 1);
  t.same(readdirSync(t.testdirName), ['lock.8'], 'the last number stays');
});

t.test('the lock of a process that is gone is taken over', async (t) => {
  const file = join(t.testdir(), 'lock');
  writeFileSync(`${file}.9`, contentOf({ pid: await endedProcess(), started: '1' }));
  await locking(file).taken;
  t.same(readdirSync(t.testdirName), ['lock.10']);
  t.match(JSON.parse(readFileSync(`${file}.10`, 'utf8')), { pid: process.pid });
});

t.test('eight find the lock of a process that is gone: still one at a time', async (t) => {
  const file = join(t.testdir(), 'lock');
  writeFileSync(`${file}.1`, contentOf({ pid: await endedProcess() }));
  t.equal(await mostAtOnce(file), 1);
});

t.test(
  'a process that has the number of one that is gone does not hold its lock',
  { skip: process.platform !== 'linux' && 'only Linux says when a process started' },
  async (t) => {
    const file = join(t.testdir(), 'lock');
    writeFileSync(`${file}.1`, contentOf({ pid: process.pid, started: '1' }));
    await t.resolves(locking(file).taken);
  },
);

t.test('a lock with invalid content has no owner', async (t) => {
  for (const content of ['', '{', '7', '{"pid":"x"}']) {
    const file = join(t.testdir(), 'lock');
    writeFileSync(`${file}.1`, content);
    await t.resolves(
      locking(file).taken.then((release) => release()),
      content,
    );
  }
});

t.test('a lock of another host is waited for, and the user is told its owner', async (t) => {
  const file = join(t.testdir(), 'lock');
  writeFileSync(`${file}.1`, JSON.stringify({ host: 'elsewhere', pid: 1 }));
  const interrupted = new AbortController();
  const { waits, taken } = locking(file, interrupted.signal);
  const ended = t.rejects(taken);
  await eventually(() => waits.length > 0);
  t.same(waits, ['process 1 on elsewhere']);
  interrupted.abort();
  await ended;
});

t.test('a folder in which nothing can be made is said', async (t) => {
  await t.rejects(locking(join(t.testdir(), 'missing', 'lock')).taken, { message: /^cannot lock / });
});
