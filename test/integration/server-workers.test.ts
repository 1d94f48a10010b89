/** Several processes on one port, with real ones. */
import { EventEmitter, once } from 'node:events';
import { get, type RequestOptions } from 'node:https';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { type Primary, type PrimaryOptions, runPrimary, workerCount } from '../../src/server/workers.ts';
import { eventually } from '../support/eventually.ts';
import { createAuthority } from '../support/tls/authority.ts';

const authority = await createAuthority();
const certificate = await authority.server('stonegate');
const WORKER = fileURLToPath(new URL('../support/server/worker.ts', import.meta.url));

process.env.WORKER_CERT = certificate.cert;
process.env.WORKER_KEY = certificate.key;

const signals = new EventEmitter();

function start(options: Partial<PrimaryOptions> = {}): Promise<Primary> {
  return runPrimary({
    workers: 2,
    program: { file: WORKER, args: [] },
    admin: { bind: '127.0.0.1:0' },
    aggregate: async (parts) => JSON.stringify(parts),
    drain: 60_000,
    grace: 5_000,
    signals,
    output: process.stdout,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    ...options,
  });
}

async function ask(port: number | undefined, path: string, settings: RequestOptions = {}): Promise<string> {
  const request = get({ port, host: '127.0.0.1', path, ca: authority.cert, agent: false, ...settings });
  const [response] = await once(request, 'response');
  return Buffer.concat(await response.toArray()).toString();
}

async function admin({ admin: { port } }: Primary, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: response.status, text: await response.text() };
}

/** Sends requests until every worker has responded. */
async function pids(port: number | undefined, count: number): Promise<Set<number>> {
  const seen = new Set<number>();
  await eventually(async () => seen.add(Number(await ask(port, '/'))).size === count);
  return seen;
}

t.test('two workers, one port', async (t) => {
  const primary = await start();
  await eventually(async () => (await admin(primary, '/readyz')).status === 200);
  const [first = 0, second = 0] = await pids(primary.port, 2);

  t.test('readiness speaks for all, each part by its worker', async (t) => {
    const { text } = await admin(primary, '/readyz?verbose');
    t.match(text, '[+]worker 1: upstream ok');
    t.match(text, '[+]worker 2: upstream ok');
  });

  t.test('metrics speak for all', async (t) => {
    const parts: unknown = JSON.parse((await admin(primary, '/metrics')).text);
    t.ok(Array.isArray(parts) && parts.length === 2);
  });

  t.test('SIGHUP reaches every worker', async () => {
    signals.emit('SIGHUP');
    await eventually(async () => (await admin(primary, '/metrics')).text.split('"reloads":1').length === 3);
  });

  t.test('a worker that is killed is restarted; the connections of the other stay open', async (t) => {
    const request = get({
      port: primary.port,
      host: '127.0.0.1',
      path: '/watch',
      ca: authority.cert,
      agent: false,
    });
    const [response] = await once(request, 'response');
    const [served] = await once(response, 'data');
    const survivor = Number(String(served));
    const victim = survivor === first ? second : first;
    let broken = false;
    response.once('close', () => {
      broken = true;
    });
    process.kill(victim, 'SIGKILL');
    await eventually(async () => (await admin(primary, '/readyz')).status === 503);
    await eventually(async () => (await admin(primary, '/readyz')).status === 200);
    const now = await pids(primary.port, 2);
    t.ok(now.has(survivor));
    t.notOk(now.has(victim));
    t.equal(broken, false);

    signals.emit('SIGTERM');
    t.equal((await admin(primary, '/readyz')).status, 503, 'not ready from the beginning of the drain');
    t.match(await ask(primary.port, '/'), /^\d+$/, 'requests are served during the drain');
    signals.emit('SIGINT');
    t.match(
      Buffer.concat(await response.toArray()).toString(),
      'the end',
      'SIGINT ends the drain, and the watch cleanly',
    );
    await primary.stopped;
    await t.rejects(ask(primary.port, '/'));
    await t.rejects(admin(primary, '/livez'));
  });
});

t.test('workers that cannot start are an error, not a loop', async (t) => {
  process.env.WORKER_FAILS = 'yes';
  t.teardown(() => {
    delete process.env.WORKER_FAILS;
  });
  await t.rejects(start(), /ended with code 3 before it listened/);
});

t.test('auto is one worker per core', async (t) => {
  t.ok(workerCount('auto') >= 1);
  t.equal(workerCount(3), 3);
});
