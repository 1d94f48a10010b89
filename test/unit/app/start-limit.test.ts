/** A start that hangs: it is said at which step, and the process ends. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { StartLimit } from '../../../src/app/start-limit.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const HUNG_START = fileURLToPath(new URL('../../support/server/hung-start.ts', import.meta.url));
const LIMIT = 15_000;

function limited() {
  const clock = createFakeClock();
  const said: string[] = [];
  const logger = { ...silentLogger, error: (_: object, message: string) => void said.push(message) };
  const limit = new StartLimit({ clock, logger, exit: () => said.push('ended') });
  return { clock, said, limit };
}

t.test('a step that hangs is named, and the process ends', async (t) => {
  const { clock, said, limit } = limited();
  limit.begin('opening audit.file /nfs/audit');
  clock.advance(LIMIT);
  await setImmediate();
  t.same(said, [
    'Stonegate could not be started: opening audit.file /nfs/audit took longer than 15 seconds',
    'ended',
  ]);
});

t.test('each step has the whole time for itself', async (t) => {
  const { clock, said, limit } = limited();
  limit.begin('reading stonegate.yaml');
  clock.advance(LIMIT - 1);
  limit.begin('opening audit.file -');
  clock.advance(LIMIT - 1);
  await setImmediate();
  t.same(said, []);
  clock.advance(1);
  await setImmediate();
  t.match(said, [/opening audit\.file -/, 'ended']);
});

t.test('a start that has ended is not ended again', async (t) => {
  const { clock, limit } = limited();
  limit.begin('reading stonegate.yaml');
  limit.end();
  t.equal(clock.pending, 0);
});

t.test('a start whose step ended late on a busy machine goes on', async (t) => {
  const { clock, said, limit } = limited();
  limit.begin('reading stonegate.yaml');
  clock.advance(LIMIT);
  limit.end();
  await setImmediate();
  t.same(said, []);
});

t.test('a process ends although the thread that opens a file hangs', async (t) => {
  const pipe = join(t.testdir({}), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const child = spawn(process.execPath, [HUNG_START, pipe], { stdio: ['ignore', 'ignore', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  const [said, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  t.match(said, `opening ${pipe} took longer than`);
  t.match({ code, signal }, { code: 1, signal: null });
});
