/**
 * The usage of tenants, as an operator bills it: each request of a client is in the records and metrics once,
 * whichever process served it, and however that process ended.
 */
import { writeFile } from 'node:fs/promises';
import { connect as connectH2 } from 'node:http2';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { openExec } from '../support/open-exec.ts';
import { askOnce, openRequest } from '../support/open-request.ts';
import { startStonegate } from '../support/stonegate.ts';
import { runStonegate, type StonegateProcess, serveStonegate } from '../support/stonegate-process.ts';
import { startTestbed, type Testbed } from '../support/testbed.ts';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const USAGE = { records: 'usage.jsonl', metrics: true };

interface Report {
  readonly rows: readonly { tenant: string; project?: string; usage: Record<string, number> }[];
  readonly gaps: readonly object[];
}

const recordsOf = ({ configFile }: Testbed) => join(dirname(configFile), USAGE.records);

async function report(...words: string[]): Promise<Report> {
  const { stdout } = await runStonegate('usage', ...words, '-o', 'json');
  const parsed: Report = JSON.parse(stdout);
  return parsed;
}

async function usageOf(testbed: Testbed, tenant: string) {
  const { rows } = await report(recordsOf(testbed));
  return rows.find((row) => row.tenant === tenant)?.usage ?? {};
}

/** Processes with this configuration, in front of one API server. */
async function serve(t: Test, configuration: Record<string, object>, count = 1) {
  const testbed = await startTestbed(t, { configuration });
  const processes: StonegateProcess[] = [];
  for (let n = 0; n < count; n += 1) {
    const process = await serveStonegate(testbed.configFile);
    t.teardown(() => process.stop());
    processes.push(process);
  }
  const [stonegate, other = stonegate] = processes;
  if (stonegate === undefined || other === undefined) throw new Error('no process');
  const token = testbed.keystoneToken('alice');
  const ca = testbed.authority.cert;
  const ask = ({ port } = stonegate) => askOnce({ port, ca }, token, CONFIGMAPS);
  return { testbed, stonegate, other, token, ask, destination: { port: stonegate.port, ca } };
}

t.test("requests by class, refusals and bytes are charged to the user's tenant", async (t) => {
  const stonegate = await startStonegate(t, { configuration: { usage: USAGE } });
  const { ask, keystoneToken, destination } = stonegate;
  const alice = keystoneToken('alice');
  const list = await ask(alice, CONFIGMAPS);
  await ask(alice, CONFIGMAPS, { method: 'HEAD' });
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'billed' } });
  const created = await ask(alice, CONFIGMAPS, { method: 'POST', body });
  const own = await ask(alice, '/apis/stonegate.dev/v1alpha1');
  t.same(
    [list, created, own].map(({ status }) => status),
    [200, 201, 200],
  );
  const session = connectH2(`https://127.0.0.1:${destination.port}`, { ca: destination.ca });
  const overH2 = await buffer(session.request({ ':path': CONFIGMAPS, authorization: `Bearer ${alice}` }));
  session.close();
  await ask(undefined, CONFIGMAPS);
  await ask('not-a-token', CONFIGMAPS);
  await ask(keystoneToken('bob'), CONFIGMAPS);
  await stonegate.close();

  t.match(await usageOf(stonegate, 'acme'), {
    getRequests: 1,
    listRequests: 3,
    writeRequests: 1,
    refusals: 0,
    receivedBytes: body.length,
    sentBytes: list.bytes.length + created.bytes.length + own.bytes.length + overH2.length,
  });
  t.match(await usageOf(stonegate, 'globex'), { listRequests: 1 });
  t.match(await usageOf(stonegate, '-'), { listRequests: 2, refusals: 2 }, 'D536 requests without a user');
});

t.test('D539 the bytes and seconds of streams are counted while they are open', async (t) => {
  const { stonegate, destination, token } = await serve(t, { usage: USAGE });
  const watch = openRequest(destination, token, `${CONFIGMAPS}?watch=true`);
  await watch.until('"settings"');
  const shell = await openExec(t, destination, token, 'SPDY/3.1');
  const sent = 100_000;
  shell.resume().write(Buffer.alloc(sent));
  const counted = async (metric: string) => {
    const { text } = await stonegate.admin('/metrics/usage');
    const line = text.split('\n').find((each) => each.startsWith(`stonegate_usage_${metric}{tenant="acme"`));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  await eventually(async () => (await counted('received_bytes_total')) >= sent);
  t.ok((await counted('sent_bytes_total')) > 0);
  t.ok((await counted('stream_seconds_total')) > 0);
  t.equal(await counted('requests_total'), 0, 'a stream counts as a request when it ends');
});

t.test('if one of two processes is killed, the report has everything but its last minute', async (t) => {
  const configuration = { usage: USAGE, server: { shutdownGrace: '5s' } };
  const { testbed, stonegate: victim, other: survivor, ask } = await serve(t, configuration, 2);
  for (const each of [victim, survivor])
    for (let n = 0; n < 3; n += 1) t.equal((await ask(each)).status, 200);
  // The records of a minute are written at its end.
  await eventually(async () => (await usageOf(testbed, 'acme')).listRequests === 6);
  await ask(survivor);
  victim.signal('SIGKILL');
  await victim.ended;
  survivor.signal('SIGTERM');
  await survivor.ended;

  const file = recordsOf(testbed);
  const { rows, gaps } = await report(file, file, '--by', 'project');
  t.equal(rows.length, 1);
  t.match(
    rows[0],
    { tenant: 'acme', project: /^[0-9a-z-]+$/, usage: { listRequests: 7 } },
    'D540 a file that is given twice counts once',
  );
  t.same(gaps, []);
});

t.test('the metrics are the sum of all workers, including one that was killed', async (t) => {
  const configuration = { server: { workers: 2, shutdownGrace: '5s' }, usage: USAGE };
  const { stonegate, ask } = await serve(t, configuration);
  const started = () => stonegate.logged.filter(({ message, worker }) => message === 'serving' && worker);
  await eventually(() => started().length === 2);
  const lists = async () => {
    const { text } = await stonegate.admin('/metrics/usage');
    return Number(/requests_total\{tenant="acme",project="[^"]+",class="list"\} (\d+)/.exec(text)?.[1]);
  };
  for (let n = 0; n < 8; n += 1) t.equal((await ask()).status, 200);
  await eventually(async () => (await lists()) === 8);
  process.kill(Number(started()[0]?.pid), 'SIGKILL');
  await eventually(() => started().length === 3);
  t.equal(await lists(), 8);
  await ask();
  await eventually(async () => (await lists()) === 9);
});

t.test(
  'by default, records are whole lines among the audit events on standard output, not metrics',
  async (t) => {
    const configuration = { audit: { file: '-' }, usage: {}, server: { workers: 2, shutdownGrace: '5s' } };
    const { testbed, stonegate, ask } = await serve(t, configuration);
    t.equal((await stonegate.admin('/metrics/usage')).status, 404);
    const asked = await Promise.all(Array.from({ length: 20 }, () => ask()));
    t.same(new Set(asked.map(({ status }) => status)), new Set([200]));
    stonegate.signal('SIGTERM');
    const { stdout } = await stonegate.ended;
    const kinds = stdout
      .trimEnd()
      .split('\n')
      .map((line): { kind: string } => JSON.parse(line));
    t.same(new Set(kinds.map(({ kind }) => kind)), new Set(['Event', 'UsageRecord', 'UsageHeartbeat']));
    const file = join(dirname(testbed.configFile), 'stdout.jsonl');
    await writeFile(file, stdout);
    const { rows, gaps } = await report(file);
    t.match(rows, [{ tenant: 'acme', usage: { listRequests: 20 } }]);
    t.same(gaps, []);
  },
);
