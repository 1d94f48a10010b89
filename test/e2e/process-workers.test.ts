/**
 * The whole program with two workers on one port: a worker that dies is replaced, and the primary reports for
 * all workers.
 */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { askOnce, openRequest } from '../support/open-request.ts';
import { serveStonegate } from '../support/stonegate-process.ts';
import { startTestbed } from '../support/testbed.ts';

const NAMESPACES = '/api/v1/namespaces';
const WATCH = '/api/v1/namespaces/default/configmaps?watch=true';

async function setUp(t: Test, configuration: Record<string, object> = {}) {
  const testbed = await startTestbed(t, {
    configuration: { server: { workers: 2, shutdownGrace: '5s' }, ...configuration },
  });
  const stonegate = await serveStonegate(testbed.configFile);
  t.teardown(() => stonegate.stop());
  await eventually(async () => (await stonegate.admin('/readyz')).status === 200);
  const destination = { port: stonegate.port, ca: testbed.authority.cert };
  const token = testbed.keystoneToken('alice');
  return {
    ...testbed,
    stonegate,
    token,
    ask: () => askOnce(destination, token, NAMESPACES),
    async watch() {
      const watch = openRequest(destination, token, WATCH);
      await watch.until('"settings"');
      return watch;
    },
    /** The ids of the worker processes that have logged `serving`, in that order. */
    workers: () =>
      stonegate.logged
        .filter(({ message, worker }) => message === 'serving' && worker !== undefined)
        .map(({ pid }) => Number(pid)),
    async metric(line: string) {
      const { text } = await stonegate.admin('/metrics');
      return Number(
        text
          .split('\n')
          .find((each) => each.startsWith(line))
          ?.split(' ')
          .at(-1) ?? 0,
      );
    },
  };
}

t.test('a worker is killed: the watch on the other continues, and the worker is restarted', async (t) => {
  const { stonegate, apiServer, workers, watch, ask, metric } = await setUp(t);
  t.equal(workers().length, 2);
  // Connections are distributed in turn, so that each worker has one.
  const watches = [await watch(), await watch()];
  await eventually(async () => (await metric('stonegate_requests_active{kind="watch"}')) === 2);

  const [victim = 0, survivor] = workers();
  process.kill(victim, 'SIGKILL');
  const ends = watches.map(({ answered }, index) => answered.then(({ complete }) => ({ index, complete })));
  const broken = await Promise.race(ends);
  t.equal(broken.complete, false, "the dead worker's watch broke off");
  apiServer.seed.configMap('after-the-death', {}, { tenant: 'acme' });
  await watches[1 - broken.index]?.until('after-the-death');
  t.equal((await ask()).status, 200, 'the port is still served');

  await eventually(() => workers().length === 3);
  await eventually(async () => (await stonegate.admin('/readyz')).status === 200);
  t.ok(
    stonegate.logged.some(
      ({ message, signal }) => /a worker exited/.test(String(message)) && signal === 'SIGKILL',
    ),
  );
  for (let n = 0; n < 4; n += 1) t.equal((await ask()).status, 200);

  stonegate.signal('SIGTERM');
  t.equal((await watches[1 - broken.index]?.answered)?.complete, true, 'SIGTERM ends the watch gracefully');
  t.match(await stonegate.ended, { code: 0, signal: null });
  t.throws(() => process.kill(survivor ?? 0, 0), { code: 'ESRCH' }, 'no worker is left behind');
});

t.test('metrics and readiness cover all workers', async (t) => {
  const { stonegate, ask, metric } = await setUp(t);
  for (let n = 0; n < 6; n += 1) t.equal((await ask()).status, 200);
  const line = 'stonegate_requests_total{verb="list",authenticator="keystone",status="200"}';
  await eventually(async () => (await metric(line)) === 6);
  const { text } = await stonegate.admin('/readyz?verbose');
  for (const worker of [1, 2])
    for (const part of ['upstream', 'authentication']) t.match(text, `[+]worker ${worker}: ${part} ok`);
});

t.test('on standard output, the audit log of all workers has whole lines and each event once', async (t) => {
  const { stonegate, ask } = await setUp(t, { audit: { file: '-' } });
  const asked = await Promise.all(Array.from({ length: 60 }, ask));
  t.same(new Set(asked.map(({ status }) => status)), new Set([200]));
  stonegate.signal('SIGTERM');
  const { stdout } = await stonegate.ended;
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line): { auditID: string; stage: string } => JSON.parse(line));
  const complete = events.filter(({ stage }) => stage === 'ResponseComplete');
  t.equal(complete.length, 60);
  t.equal(new Set(complete.map(({ auditID }) => auditID)).size, 60);
});

t.test('SIGHUP reaches every worker', async (t) => {
  const { stonegate, configure, ask, keystone, metric } = await setUp(t);
  for (let n = 0; n < 2; n += 1) t.equal((await ask()).status, 200);
  const { url } = keystone;
  await configure({
    server: { workers: 2, shutdownGrace: '5s' },
    authentication: { keystone: { url, caFile: 'ca.crt', cacheTTL: '2m' } },
  });
  stonegate.signal('SIGHUP');
  await eventually(async () => (await metric('stonegate_reloads_total{result="ok"}')) >= 2);
  for (let n = 0; n < 2; n += 1) t.equal((await ask()).status, 200);
});

t.test('if the primary is killed, no worker stays on the port', async (t) => {
  const { stonegate, workers } = await setUp(t);
  const left = workers();
  stonegate.signal('SIGKILL');
  await eventually(() => left.every((pid) => !isAlive(pid)));
  t.equal(left.length, 2);
});

function isAlive(pid: number) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}
