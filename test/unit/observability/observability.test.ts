import { execFileSync } from 'node:child_process';
import { open, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { METRICS } from '../../../src/app/metrics.ts';
import { CERTIFICATE_ENDS } from '../../../src/config/certificate-periods.ts';
import { LAST_RELOAD } from '../../../src/config/reload.ts';
import type { ErrorCode } from '../../../src/errors/codes.ts';
import { StatusError, unauthorized } from '../../../src/errors/status-error.ts';
import { KEYSTONE_LIMITS_AGE } from '../../../src/features/keystone-limits/metrics.ts';
import { INDEX_SYNCED } from '../../../src/features/rbac-index/metrics.ts';
import { INFORMER_AGE } from '../../../src/kubernetes/informer-metrics.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { type AuditStreamOptions, createAuditFile } from '../../../src/observability/audit-file.ts';
import { createLogger } from '../../../src/observability/log.ts';
import { aggregateMetrics, createMetrics } from '../../../src/observability/metrics.ts';
import type { ObservedRequest, Outcome } from '../../../src/observability/request-observer.ts';
import { createRequestLog, observeAll } from '../../../src/observability/request-observers.ts';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';
import { CONNECTIONS_OPEN } from '../../../src/server/listener.ts';
import { eventually } from '../../support/eventually.ts';
import { everyMetric } from '../../support/every-metric.ts';
import { everyUsageMetric } from '../../support/every-usage-metric.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { alice } from '../../support/fake-pipeline.ts';

function record(target: string, outcome: Outcome, method = 'GET'): ObservedRequest {
  return {
    auditID: 'a-1',
    receivedAt: 1_000,
    exchange: { method, target, headers: [], bytesReceived: 0, response: { bytesSent: 0 } },
    sourceIPs: ['192.0.2.7'],
    info: readRequestInfo(method, target, { hasTenantsInPaths: true }),
    identity: alice,
    outcome,
  };
}

const agent = (request: ObservedRequest, name: string): ObservedRequest => ({
  ...request,
  exchange: { ...request.exchange, headers: [['User-Agent', name]] },
});

const fine: Outcome = { status: 200, aborted: false };

t.test('C251 every documented metric exists and counts', async (t) => {
  const metrics = everyMetric(() => 2_000);
  const request = record('/api/v1/pods', fine);
  metrics.requestReceived(request);
  metrics.responseStarted(request, 200);
  metrics.responseComplete(request);
  const refused = record('/api', { status: 401, code: 'CredentialInvalid', aborted: false });
  metrics.requestReceived(refused);
  metrics.responseComplete(refused);
  const text = `${await metrics.text()}${everyUsageMetric()}`;
  t.match(text, 'stonegate_requests_total{verb="list",authenticator="keystone",status="200"} 1');
  t.match(text, 'stonegate_refusals_total{code="CredentialInvalid"} 1');
  const documented = new Map(
    [
      ...(await readFile('docs/reference/metrics.md', 'utf8')).matchAll(
        /^\| `(stonegate_\w+)` \| (\w+) \|([^|]*)\|/gm,
      ),
    ].map(([, name = '', type, labels = '']) => [name, { type, labels: labels.replace(/[`\s]/g, '') }]),
  );
  for (const { name, type, labels } of METRICS)
    t.same(documented.get(name), { type, labels: Object.keys(labels).join() }, name);
  const names = [...documented.keys()];
  const exposed = new Set(
    (text.match(/^# TYPE stonegate_\w+/gm) ?? []).map((line) => line.slice('# TYPE '.length)),
  );
  t.same([...exposed].sort(), names.sort(), 'docs/reference/metrics.md names exactly these');
  for (const name of names) t.match(text, new RegExp(`^${name}(_count)?(\\{[^}]*\\})? [0-9]`, 'm'), name);
});

t.test('what is measured has series while it is in force', async (t) => {
  const metrics = createMetrics(METRICS, () => 2_000, '1.2.3');
  const age = async () => (await metrics.text()).match(/^stonegate_informer_age_seconds.*$/gm) ?? [];
  const labels = { informer: 'policies', resource: 'pots' };
  const end = metrics.measure(INFORMER_AGE, () => [[labels, 7]]);
  const endNext = metrics.measure(INFORMER_AGE, () => [[labels, 9]]);
  const series = 'stonegate_informer_age_seconds{informer="policies",resource="pots"}';
  t.same(await age(), [`${series} 9`], 'the last one to begin decides');
  end();
  t.same(await age(), [`${series} 9`]);
  endNext();
  t.same(await age(), []);
});

t.test('a gauge has its initial value, or no series, while it is not measured', async (t) => {
  const metrics = createMetrics(METRICS, () => 2_000, '1.2.3');
  const series = async () =>
    (await metrics.text()).match(/^stonegate_(rbac_index_synced|keystone_limits_age).*$/gm) ?? [];
  t.same(await series(), ['stonegate_rbac_index_synced 0']);
  let seconds: number | undefined;
  const ends = [metrics.measure(INDEX_SYNCED, () => 1), metrics.measure(KEYSTONE_LIMITS_AGE, () => seconds)];
  t.same(await series(), ['stonegate_rbac_index_synced 1']);
  seconds = 30;
  t.same((await series()).sort(), [
    'stonegate_keystone_limits_age_seconds 30',
    'stonegate_rbac_index_synced 1',
  ]);
  for (const end of ends) end();
  t.same(await series(), ['stonegate_rbac_index_synced 0']);
});

t.test('only what is among the definitions can be counted', (t) => {
  const metrics = createMetrics([], () => 2_000, '1.2.3');
  t.throws(() => metrics.set(INDEX_SYNCED, {}, 1), {
    message: /stonegate_rbac_index_synced is not registered/,
  });
  t.end();
});

t.test('C252 clients cannot grow the number of series', async (t) => {
  const metrics = createMetrics(METRICS, () => 2_000, '1.2.3');
  for (let i = 0; i < 500; i++) {
    const request: ObservedRequest = {
      ...agent(record(`/api/v1/namespaces/n${i}/pods/p${i}`, fine), `agent-${i}`),
      sourceIPs: [`198.51.100.${i % 250}`],
    };
    metrics.requestReceived(request);
    metrics.responseComplete(request);
    const odd: ObservedRequest = { ...record('/x', fine, `METHOD${i}`) };
    metrics.responseComplete(odd);
  }
  const series = (await metrics.text())
    .split('\n')
    .filter((line) => line.startsWith('stonegate_requests_total'));
  t.ok(series.length <= 2, series.join('\n'));
});

t.test('a series whose labels have fixed values exists before its first event', async (t) => {
  const text = await createMetrics(METRICS, () => 0, '1.2.3').text();
  for (const line of [
    'stonegate_refusals_total{code="InvariantBroken"} 0',
    'stonegate_streams_ended_total{kind="watch",reason="unverified"} 0',
    'stonegate_controller_runs_total{controller="bindings",result="error"} 0',
    'stonegate_access_verifications_total{result="differed"} 0',
  ])
    t.match(text, `${line}\n`);
});

t.test('the metrics of several workers are summed', async (t) => {
  const workers = [createMetrics(METRICS, () => 0, '1.2.3'), createMetrics(METRICS, () => 0, '1.2.3')];
  for (const worker of workers) worker.cacheLookup('redis', 'hit');
  for (const [at, worker] of workers.entries()) {
    worker.set(CONNECTIONS_OPEN, { listener: 'api' }, 10 + at);
    worker.set(CERTIFICATE_ENDS, { field: 'server.tls.certFile' }, 9 - at);
  }
  workers[1]?.set(LAST_RELOAD, {}, 0);
  const documents = await Promise.all(workers.map((worker) => worker.json()));
  const text = await aggregateMetrics(documents);
  t.match(text, 'stonegate_cache_lookups_total{tier="redis",result="hit"} 2');
  const build = `version="1.2.3",node_version="${process.versions.node}"`;
  t.match(text, `stonegate_build_info{${build}} 1\n`);
  t.match(text, 'stonegate_connections_open{listener="api"} 21');
  t.match(text, 'stonegate_certificate_not_after_timestamp_seconds{field="server.tls.certFile"} 8');
  t.match(text, 'stonegate_last_reload_successful 0');
});

function captured() {
  const lines: string[] = [];
  const logger = createLogger('debug', { write: (line) => lines.push(line) });
  return { logger, lines, last: (): Record<string, unknown> => JSON.parse(lines.at(-1) ?? '{}') };
}

t.test('C149 C245 no token is ever logged, wherever it occurs', async (t) => {
  const { logger, lines } = captured();
  const token = `gAAAAA${'x'.repeat(100)}`;
  logger.debug({ token, authorization: `Bearer ${token}` }, 'fields of that name');
  logger.debug({ nested: { token } }, 'nested');
  logger.debug({ url: `/x?token=${token}` }, 'in a text');
  logger.error({ error: new Error(`bad ${token}`, { cause: new Error(token) }) }, 'in an error');
  t.equal(lines.length, 4);
  t.notMatch(lines.join(''), token);
});

t.test('an expected fault is logged as one line with all its causes, without a stack', async (t) => {
  const { logger, last } = captured();
  const refused = new Error('socket closed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:5000') });
  logger.warn({ error: new StatusError('KeystoneUnavailable', 'Keystone is away', { cause: refused }) }, 'x');
  t.equal(last().error, 'Keystone is away: socket closed: connect ECONNREFUSED 127.0.0.1:5000');
});

t.test('for a host with several addresses, each failure is logged', async (t) => {
  const { logger, last } = captured();
  const cause = new AggregateError([
    new Error('connect ECONNREFUSED ::1'),
    new Error('connect ENETUNREACH 10.0.0.1'),
  ]);
  logger.warn({ error: new StatusError('KeystoneUnavailable', 'Keystone is away', { cause }) }, 'x');
  t.equal(last().error, 'Keystone is away: connect ECONNREFUSED ::1, connect ENETUNREACH 10.0.0.1');
});

t.test('an unexpected error is logged with its stack, and so is a broken invariant', async (t) => {
  const { logger, last } = captured();
  logger.error({ error: new TypeError('no function') }, 'x');
  t.match(last().error, /^TypeError: no function\n +at /);
  logger.error(
    { error: new StatusError('InvariantBroken', 'cannot be', { cause: new RangeError('y') }) },
    'x',
  );
  t.match(last().error, /^StatusError: cannot be\n +at .*\ncaused by: RangeError: y$/s);
});

t.test('a refusal is logged with the cause that the client is not told', async (t) => {
  const { logger, last } = captured();
  const log = createRequestLog(logger, createFakeClock());
  const error = unauthorized(new Error('the token is expired'));
  log.responseComplete(record('/api', { status: 401, code: error.code, error, aborted: false }));
  t.match(last(), { level: 'info', auditID: 'a-1', code: 'CredentialInvalid', reason: /expired/ });
  const down = new StatusError('KeystoneUnavailable', 'Keystone cannot be asked');
  log.responseComplete(record('/api', { status: 503, code: down.code, error: down, aborted: false }));
  t.match(last(), { level: 'error', reason: 'Keystone cannot be asked' });
  log.responseComplete(
    record('/api', { status: 500, code: 'InternalError', error: new TypeError('x'), aborted: false }),
  );
  t.match(last(), { reason: /TypeError: x\n/ });
});

t.test(
  'in an outage one failure of a kind is logged each second, and how many more there were',
  async (t) => {
    const { logger, lines, last } = captured();
    const clock = createFakeClock();
    const log = createRequestLog(logger, clock);
    const fail = (code: ErrorCode) =>
      log.responseComplete(
        record('/api', { status: 503, code, error: new StatusError(code, 'down'), aborted: false }),
      );
    for (let i = 0; i < 1_000; i += 1) fail('UpstreamUnavailable');
    fail('KeystoneUnavailable');
    t.match(
      lines.map((line) => JSON.parse(line).code),
      ['UpstreamUnavailable', 'KeystoneUnavailable'],
    );
    clock.advance(1_000);
    fail('UpstreamUnavailable');
    t.match(last(), { code: 'UpstreamUnavailable', omitted: 999 });
    clock.advance(1_000);
    fail('UpstreamUnavailable');
    t.equal(last().omitted, undefined);
  },
);

t.test('each unexpected error is logged, since its user is told the audit ID', async (t) => {
  const { logger, lines } = captured();
  const log = createRequestLog(logger, createFakeClock());
  for (const error of [new TypeError('x'), new RangeError('y')])
    log.responseComplete(record('/api', { status: 500, code: 'InternalError', error, aborted: false }));
  t.match(
    lines.map((line) => JSON.parse(line).reason),
    [/TypeError: x/, /RangeError: y/],
  );
});

t.test('a token in the cause of a refusal is not logged', async (t) => {
  const { logger, last } = captured();
  // This token has no known form.
  const token = `Ab1${'x'.repeat(60)}`;
  for (const cause of [new Error(`what is ${token}?`), `what is ${token}?`]) {
    const error = unauthorized(cause);
    createRequestLog(logger, createFakeClock()).responseComplete(
      record('/api', { status: 401, code: error.code, error, aborted: false }),
    );
    t.match(last(), { reason: /what is \[redacted\]\?/ });
  }
});

t.test('a failing observer affects neither the request nor other observers', async (t) => {
  const { logger, lines } = captured();
  const fails = () => {
    throw new Error('broken');
  };
  let seen = 0;
  const count = () => {
    seen += 1;
  };
  const all = observeAll(
    [
      { requestReceived: fails, responseStarted: fails, responseComplete: fails },
      { requestReceived: count, responseStarted: count, responseComplete: count },
    ],
    logger,
  );
  const request = record('/api', fine);
  all.requestReceived(request);
  all.responseStarted(request, 200);
  all.responseComplete(request);
  t.equal(seen, 3);
  t.equal(lines.length, 3);
});

/** An audit log that fails the test if it loses a line, unless the options say otherwise. */
function openAuditFile(t: Test, options: Partial<AuditStreamOptions> & { readonly file: string }) {
  return createAuditFile({
    content: 'audit events',
    clock: systemClock,
    logger: silentLogger,
    lost: () => t.fail('lost'),
    ...options,
  });
}

t.test('an audit log in a folder that cannot be created is not opened, and the error says so', async (t) => {
  const opened = openAuditFile(t, { file: '/proc/x/audit.log' });
  await t.rejects(opened, { message: '/proc/x/audit.log is in a folder that cannot be created' });
});

t.test(
  'audit lines are on disk in order once the log is closed, and a rotated file is reopened',
  async (t) => {
    const folder = t.testdir({});
    const file = join(folder, 'audit.log');
    const audit = await openAuditFile(t, { file });
    audit.write('one');
    audit.write('two');
    await t.resolves(eventually(async () => (await readFile(file, 'utf8')) === 'one\ntwo\n'));
    await rename(file, `${file}.1`);
    audit.reopen();
    audit.write('three');
    await audit.close();
    t.doesNotThrow(() => audit.reopen(), 'a late SIGHUP does no harm');
    t.equal(
      (await readFile(`${file}.1`, 'utf8')) + (await readFile(file, 'utf8').catch(() => '')),
      'one\ntwo\nthree\n',
    );
  },
);

t.test(
  'an audit log that is moved off a full disk loses no line, even while lines are being written',
  async (t) => {
    const { logger, lines: said } = captured();
    const file = join(t.testdir({}), 'audit.log');
    await symlink('/dev/full', file);
    const failing: boolean[] = [];
    const audit = await openAuditFile(t, { file, logger, failing: (is) => failing.push(is) });
    audit.write('one');
    await eventually(() => said.length > 0);
    t.same(failing, [true]);
    await rm(file);
    audit.write('two');
    audit.reopen();
    audit.write('three');
    await t.resolves(
      eventually(async () => (await readFile(file, 'utf8').catch(() => '')) === 'one\ntwo\nthree\n'),
    );
    await audit.close();
    t.same(failing, [true, false], 'each change is reported once');
  },
);

t.test('audit events that a full disk refuses until the end are counted and logged', async (t) => {
  const { logger, lines } = captured();
  let lost = 0;
  const count = () => {
    lost += 1;
  };
  const audit = await openAuditFile(t, { file: '/dev/full', logger, lost: count });
  audit.write('one');
  await eventually(() => lines.length > 0);
  audit.write('two');
  audit.write('three');
  await audit.close();
  t.equal(lost, 3);
  t.match(JSON.parse(lines.at(-1) ?? ''), { message: 'audit events are lost', events: 3, why: /ENOSPC/ });
  await audit.close();
  t.equal(lost, 3, 'each event is counted once');
});

/** An audit log to a pipe that only the test reads. */
async function auditToPipe(t: Test) {
  const { logger, lines } = captured();
  const pipe = `${t.testdir({})}/audit`;
  execFileSync('mkfifo', [pipe]);
  const reader = await open(pipe, 'r+');
  const clock = createFakeClock();
  let lost = 0;
  const count = () => {
    lost += 1;
  };
  const audit = await openAuditFile(t, { file: pipe, clock, logger, lost: count });
  /** Reads until it has this number of bytes. */
  const read = async (bytes: number) => {
    let seen = '';
    while (seen.length < bytes) {
      const { buffer, bytesRead } = await reader.read(Buffer.alloc(65_536));
      seen += buffer.toString('latin1', 0, bytesRead);
    }
    return seen;
  };
  return { audit, clock, lines, reader, read, lost: () => lost };
}

t.test('an audit log that is reopened during a slow write loses no line', async (t) => {
  const { audit, reader, read, lost } = await auditToPipe(t);
  const lines = ['x', 'y'].map((letter) => letter.repeat(200 * 1024));
  for (const line of lines) audit.write(line);
  audit.reopen();
  audit.write('last');
  const expected = `${[...lines, 'last'].join('\n')}\n`;
  const closed = audit.close();
  t.ok((await read(expected.length)) === expected);
  await closed;
  await reader.close();
  t.equal(lost(), 0);
});

t.test(
  'the log reports the total of lost audit events, including those that were only counted',
  async (t) => {
    const { audit, clock, lines, reader, read, lost } = await auditToPipe(t);
    const mebibyte = 'x'.repeat(1024 * 1024 - 1);
    for (let written = 0; written < 70; written += 1) audit.write(mebibyte);
    const waiting = 70 - lost();
    t.match(JSON.parse(lines.at(-1) ?? ''), { message: 'audit events are lost', events: 1 });
    t.ok(lost() > 1, 'more events were lost than were logged');
    let ended = false;
    const closed = audit.close().then(() => {
      ended = true;
    });
    await eventually(() => {
      clock.advance(5_000);
      return ended;
    });
    await closed;
    t.equal(lost(), 70);
    t.match(JSON.parse(lines.at(-1) ?? ''), { message: 'audit events are lost', events: 70 });
    // The pending write would keep this process from ending.
    await read(waiting * 1024 * 1024);
    await reader.close();
  },
);

t.test('an audit log that cannot be reopened writes every line to its current file', async (t) => {
  const folder = t.testdir({ log: {} });
  const { logger, lines: said } = captured();
  const audit = await openAuditFile(t, { file: join(folder, 'log', 'audit.log'), logger });
  audit.write('one');
  await rename(join(folder, 'log'), join(folder, 'moved'));
  await writeFile(join(folder, 'log'), 'no folder');
  audit.reopen();
  audit.write('two');
  await audit.close();
  t.equal(await readFile(join(folder, 'moved', 'audit.log'), 'utf8'), 'one\ntwo\n');
  t.match(said, [/audit events cannot be written/]);
});

t.test('audit lines stay whole and in order, however slowly they are read', async (t) => {
  const { audit, clock, reader, read, lost } = await auditToPipe(t);
  const lines = Array.from({ length: 3_000 }, (_, at) => `line ${at} ${'y'.repeat(at % 400)}`);
  const expected = `${lines.join('\n')}\n`;
  let seen = '';
  for (const [at, line] of lines.entries()) {
    audit.write(line.slice(0, 3), '', line.slice(3));
    if (at % 7 === 0) clock.advance(1_000);
    if (at % 100 === 99) seen += await read(1);
  }
  const closed = audit.close();
  seen += await read(expected.length - seen.length);
  await closed;
  await reader.close();
  t.ok(seen === expected);
  t.equal(lost(), 0);
});
