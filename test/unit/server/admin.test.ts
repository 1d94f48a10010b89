/** Health and metrics as probes and Prometheus request them. */
import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { type AdminOptions, createAdminListener, readinessOf } from '../../../src/server/admin.ts';

interface Got {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function start(
  test: { teardown(action: () => Promise<void>): unknown },
  options: Partial<AdminOptions> = {},
): Promise<(target: string, method?: string) => Promise<Got>> {
  const admin = await createAdminListener({
    bind: '127.0.0.1:0',
    readiness: () => [{ name: 'upstream' }],
    metrics: async () => 'stonegate_up 1\n',
    version: '1.2.3',
    random: systemRandom,
    logger: silentLogger,
    ...options,
  });
  test.teardown(() => admin.close());
  return async (target, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${admin.address.port}${target}`, { method });
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
}

t.test('a ready process is ok, in one word or by check', async (t) => {
  const get = await start(t);
  for (const path of ['/livez', '/healthz', '/readyz']) t.match(await get(path), { status: 200, text: 'ok' });
  t.equal((await get('/readyz?verbose')).text, '[+]ping ok\n[+]upstream ok\nreadyz check passed\n');
  t.equal((await get('/livez?verbose')).text, '[+]ping ok\nlivez check passed\n');
});

t.test('a process that is not ready names the failed checks, and is alive', async (t) => {
  const checks = [
    { name: 'upstream', notReadyBecause: () => undefined },
    { name: 'issuer https://login.example.com', notReadyBecause: () => 'no keys yet' },
  ];
  const get = await start(t, { readiness: () => readinessOf(checks) });
  t.match(await get('/readyz'), {
    status: 503,
    text: '[+]ping ok\n[+]upstream ok\n[-]issuer https://login.example.com failed: no keys yet\nreadyz check failed\n',
  });
  t.match(await get('/livez'), { status: 200 });
});

t.test('the admin listener reports the versions of Stonegate and of Node', async (t) => {
  const get = await start(t);
  const { status, text, headers } = await get('/version');
  t.match({ status, type: headers.get('content-type') }, { status: 200, type: 'application/json' });
  t.same(JSON.parse(text), { version: '1.2.3', nodeVersion: process.versions.node });
});

t.test('C181 only exact paths are health checks: all others are 404', async (t) => {
  const get = await start(t);
  for (const path of ['/', '/api', '/livez/', '/readyz/upstream', '//livez', '/debug/pprof']) {
    const { status, text } = await get(path);
    t.equal(status, 404, path);
    t.match(JSON.parse(text), { kind: 'Status', reason: 'NotFound', code: 404 });
  }
});

t.test('methods other than GET and HEAD are 405', async (t) => {
  const get = await start(t);
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    const { status, headers } = await get('/metrics', method);
    t.match({ status, allow: headers.get('allow') }, { status: 405, allow: 'GET, HEAD' });
  }
});

t.test('an error while serving is a 500 without detail', async (t) => {
  const get = await start(t, { metrics: () => Promise.reject(new Error('secret')) });
  const { status, text } = await get('/metrics');
  t.equal(status, 500);
  t.notMatch(text, 'secret');
});
