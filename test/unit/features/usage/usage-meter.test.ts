/** What a process writes and shows of the usage of tenants, minute by minute. */
import t from 'tap';
import { parse } from 'yaml';
import { MAX_SHOWN_PROJECTS, UsageExposition } from '../../../../src/features/usage/usage-metrics.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { observedRequest } from '../../../support/observed-request.ts';
import { infoOf, usageLine, type WritingMeter, writingMeter } from '../../../support/usage-lines.ts';

const MINUTE = 60_000;
const NOON = Date.parse('2026-11-26T12:00:00Z');
const PODS = '/api/v1/namespaces/default/pods';

function start(at = NOON) {
  const clock = createFakeClock(at);
  return { clock, meter: writingMeter('p1', clock) };
}

const recordsOf = ({ lines }: WritingMeter) =>
  lines.map(usageLine).flatMap((line) => (line.kind === 'UsageRecord' ? [line] : []));

const showing = (meter: WritingMeter) => new UsageExposition().text(new Map([[0, meter.current()]]));

t.test('each minute has a record for each project with activity, and a heartbeat', async (t) => {
  const { clock, meter } = start(NOON + 15_000);
  const info = infoOf('GET', PODS);
  for (const project of ['web', 'db'])
    meter.observer.responseComplete(observedRequest({ tenant: 'acme', project, info, sent: 10 }));
  clock.advance(45_000);
  clock.advance(MINUTE);
  const [begin, minute, next] = ['00:15', '01:00', '02:00'].map((at) => `2026-11-26T12:${at}.000Z`);
  const common = 'apiVersion: stonegate.dev/v1alpha1, process: p1';
  const record = `${common}, kind: UsageRecord, from: '${begin}', to: '${minute}', tenant: acme, usage: {listRequests: 1, sentBytes: 10}`;
  const heartbeat = `${common}, kind: UsageHeartbeat`;
  t.same(
    meter.lines.map(usageLine),
    parse(`
    - {${heartbeat}, id: p1-1, sequence: 1, from: '${begin}', to: '${begin}'}
    - {${record}, id: p1-2, sequence: 2, project: web}
    - {${record}, id: p1-3, sequence: 3, project: db}
    - {${heartbeat}, id: p1-4, sequence: 4, from: '${begin}', to: '${minute}'}
    - {${heartbeat}, id: p1-5, sequence: 5, from: '${minute}', to: '${next}'}`),
  );
});

t.test('D536 usage without a project or a tenant is charged to "-", and nothing is dropped', async (t) => {
  const { meter } = start();
  const refused = { status: 401, code: 'CredentialInvalid', aborted: false } as const;
  meter.observer.responseComplete(observedRequest({ tenant: 'acme', info: infoOf('POST', PODS) }));
  meter.observer.responseComplete(observedRequest({ info: infoOf('GET', PODS), outcome: refused }));
  const malformed = { status: 400, code: 'RequestMalformed', aborted: false } as const;
  meter.observer.responseComplete(observedRequest({ outcome: malformed }));
  meter.close();
  t.match(
    recordsOf(meter),
    parse(`
    - {tenant: acme, project: '-', usage: {writeRequests: 1}}
    - {tenant: '-', project: '-', usage: {listRequests: 1, getRequests: 1, refusals: 2}}`),
  );
  t.match(showing(meter), 'stonegate_usage_refusals_total{tenant="-",project="-"} 2');
});

t.test('D539 a watch of three hours and a shell with 1 GiB count in each hour', async (t) => {
  const { clock, meter } = start();
  const watch = observedRequest({ tenant: 'acme', project: 'web', info: infoOf('GET', `${PODS}?watch=1`) });
  const shell = observedRequest({ tenant: 'acme', project: 'db', info: infoOf('POST', `${PODS}/web/exec`) });
  meter.observer.responseStarted(watch, 200);
  meter.observer.responseStarted(shell, 101);
  for (let minute = 0; minute < 120; minute += 1) {
    watch.exchange.response.bytesSent += 1_000;
    shell.exchange.bytesReceived += 2 ** 23;
    shell.exchange.response.bytesSent += 2 ** 20;
    clock.advance(MINUTE);
  }
  meter.observer.responseComplete(shell);
  clock.advance(60 * MINUTE);
  meter.observer.responseComplete(watch);
  meter.close();
  const hour = (project: string, at: string, measure: 'streamSeconds' | 'receivedBytes' | 'sentBytes') =>
    recordsOf(meter)
      .filter((record) => record.project === project && record.from.startsWith(`2026-11-26T${at}`))
      .reduce((sum, { usage }) => sum + (usage[measure] ?? 0), 0);
  for (const at of ['12', '13', '14']) t.equal(hour('web', at, 'streamSeconds'), 3_600);
  for (const at of ['12', '13']) {
    t.equal(hour('db', at, 'streamSeconds'), 3_600);
    t.equal(hour('db', at, 'receivedBytes'), 60 * 2 ** 23);
    t.equal(hour('db', at, 'sentBytes'), 60 * 2 ** 20);
    t.equal(hour('web', at, 'sentBytes'), 60_000);
  }
  t.equal(
    recordsOf(meter).reduce((sum, { usage }) => sum + (usage.watchRequests ?? 0), 0),
    1,
  );
});

t.test('a stream that is refused has no stream seconds', async (t) => {
  const { clock, meter } = start();
  const watch = observedRequest({ tenant: 'acme', project: 'web', info: infoOf('GET', `${PODS}?watch=1`) });
  meter.observer.responseStarted(watch, 403);
  clock.advance(1_000);
  meter.observer.responseComplete(watch);
  meter.close();
  t.same(recordsOf(meter)[0]?.usage, { watchRequests: 1 });
});

t.test('the resources that objects request are multiplied by time, at the replica that counts', async (t) => {
  const clock = createFakeClock(NOON);
  const totals = { cpuCores: 0.5, memoryBytes: 2 ** 30, pods: 3, storageBytes: 10 * 2 ** 30 };
  let leads = true;
  const meter = writingMeter('p1', clock, () =>
    leads ? [{ tenant: 'acme', project: 'web', ...totals }] : [],
  );
  clock.advance(MINUTE);
  leads = false;
  clock.advance(MINUTE);
  t.match(
    recordsOf(meter),
    parse(`
    - tenant: acme
      project: web
      usage:
        requestedCpuSeconds: 30
        requestedMemoryByteSeconds: ${60 * 2 ** 30}
        podSeconds: 180
        storageByteSeconds: ${600 * 2 ** 30}`),
  );
});

t.test('a namespace in which nothing runs and nothing is requested has no record', async (t) => {
  const idle = { cpuCores: 0, memoryBytes: 0, pods: 0, storageBytes: 0 };
  const clock = createFakeClock(NOON);
  const meter = writingMeter('p1', clock, () => [{ tenant: 'acme', project: 'idle', ...idle }]);
  clock.advance(MINUTE);
  t.same(recordsOf(meter), []);
});

t.test('a clock that is set back reduces no usage', async (t) => {
  const { clock, meter } = start(NOON + 30_000);
  const watch = observedRequest({ tenant: 'acme', project: 'web', info: infoOf('GET', `${PODS}?watch=1`) });
  meter.observer.responseStarted(watch, 200);
  clock.advance(-10_000);
  meter.observer.responseComplete(watch);
  meter.close();
  const last = usageLine(meter.lines.at(-1) ?? '');
  t.match(last, { kind: 'UsageHeartbeat', final: true, from: '2026-11-26T12:00:30.000Z', to: last.from });
  t.same(recordsOf(meter)[0]?.usage, { watchRequests: 1 });
});

t.test('D538 the number of series is bounded, and the rest is in "other"', async (t) => {
  const clock = createFakeClock(NOON);
  const meter = writingMeter('p1', clock, () => [
    { tenant: 'tenant-0', project: 'p', cpuCores: 1, memoryBytes: 1, pods: 1, storageBytes: 1 },
  ]);
  const info = infoOf('GET', `${PODS}/secret-name`);
  const tenants = MAX_SHOWN_PROJECTS + 100;
  const all = () => {
    for (let n = 0; n < tenants; n += 1)
      meter.observer.responseComplete(observedRequest({ tenant: `tenant-${n}`, project: 'p', info }));
  };
  all();
  clock.advance(MINUTE);
  all();
  const lines = showing(meter)
    .split('\n')
    .filter((line) => line.startsWith('stonegate_'));
  t.ok(lines.length <= 20_000);
  t.ok(lines.includes('stonegate_usage_requests_total{tenant="-",project="other",class="get"} 200'));
  t.ok(lines.includes('stonegate_usage_requests_total{tenant="tenant-0",project="p",class="get"} 2'));
  const labels = new Set(lines.flatMap((line) => [...line.matchAll(/[{,](\w+)="/g)].map(([, name]) => name)));
  t.same([...labels], ['tenant', 'project', 'class']);
  t.notMatch(meter.lines.join('\n'), /secret-name|alice/);
  t.equal(recordsOf(meter).length, tenants, 'the records have all of them');
});

t.test('projects beyond 20,000 in a minute share one record', async (t) => {
  const { meter } = start();
  const info = infoOf('GET', PODS);
  for (let n = 0; n < 20_010; n += 1)
    meter.observer.responseComplete(observedRequest({ tenant: 'acme', project: `p${n}`, info }));
  meter.close();
  const records = recordsOf(meter);
  t.equal(records.length, 20_001);
  t.match(records.at(-1), { tenant: '-', project: 'other', usage: { listRequests: 10 } });
});

t.test('the sum of the workers never falls', async (t) => {
  const exposition = new UsageExposition();
  const part = (process: string, getRequests: number) => ({
    process,
    projects: [{ tenant: 'acme', project: 'web', usage: { getRequests } }],
  });
  const shown = (...parts: readonly (readonly [number, object])[]) =>
    Number(/class="get"\} (\d+)/.exec(exposition.text(new Map(parts)))?.[1]);
  t.equal(shown([1, part('a', 10)], [2, part('b', 5)]), 15);
  t.equal(shown([1, part('a', 11)]), 16, 'a worker is late');
  t.equal(shown([1, part('a', 11)], [2, part('c', 1)]), 17, 'a worker was replaced');
  t.equal(shown([1, part('a', 11)], [2, part('c', 2)]), 18);
  t.equal(shown([1, {}], [2, part('c', 2)]), 18, 'a worker reports something else');
});

t.test('text of an identity cannot break a line of either output', async (t) => {
  const { meter } = start();
  const project = 'a"b\\c\nd\u2028é';
  meter.observer.responseComplete(observedRequest({ tenant: 'acme', project, info: infoOf('GET', PODS) }));
  t.match(showing(meter), '{tenant="acme",project="a\\"b\\\\c\\nd\u2028é",class="list"} 1');
  meter.close();
  t.match(meter.lines.join(''), /^[\x20-\x7e]+$/);
  t.equal(recordsOf(meter)[0]?.project, project);
});
