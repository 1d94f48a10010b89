/** The whole program as a process: how it starts, ends and handles signals. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { connect as connectTLS } from 'node:tls';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { askOnce, openRequest } from '../support/open-request.ts';
import { RawConnection } from '../support/raw-http/raw-connection.ts';
import {
  beginStonegate,
  runStonegate,
  type StonegateProcess,
  serveStonegate,
} from '../support/stonegate-process.ts';
import { startTestbed, type TestbedOptions } from '../support/testbed.ts';

const NAMESPACES = '/api/v1/namespaces';
const WATCH = '/api/v1/namespaces/default/configmaps?watch=true';

/** A testbed with the program running in it, ended with the test. */
async function setUp(t: Test, configuration: TestbedOptions['configuration'] = {}) {
  const folder = t.testdir();
  const testbed = await startTestbed(t, {
    folder,
    // During a test no timeout expires and no cached token is validated again.
    keystoneConfiguration: { cacheTTL: '1h', timeout: '1h' },
    configuration: {
      limits: { streams: { recheck: '1h' } },
      ...configuration,
      server: { shutdownGrace: '1h', ...configuration?.server },
    },
  });
  const stonegate = await serveStonegate(testbed.configFile);
  t.teardown(() => stonegate.stop());
  await readyzIs(stonegate, 200);
  // The first request to Keystone is over, so that a request that hangs from now on is the test's own.
  await eventually(async () =>
    /backend="keystone",result="ok"/.test((await stonegate.admin('/metrics')).text),
  );
  const destination = { port: stonegate.port, ca: testbed.authority.cert };
  return { ...testbed, folder, stonegate, destination };
}

async function readyzIs(stonegate: StonegateProcess, status: number) {
  await eventually(async () => (await stonegate.admin('/readyz')).status === status);
}

t.test('C253 SIGTERM with a GET in flight and a watch open: both end gracefully', async (t) => {
  const { stonegate, destination, keystone, keystoneToken } = await setUp(t);
  const token = keystoneToken('alice');
  const watch = openRequest(destination, token, WATCH);
  await watch.until('"settings"');

  keystone.fault = 'hang';
  const inFlight = openRequest(destination, keystoneToken('alice'), NAMESPACES);
  await eventually(() => keystone.hanging === 1);

  stonegate.signal('SIGTERM');
  const watched = await watch.answered;
  t.equal(watched.complete, true, 'the watch ends as a complete response, not with a broken connection');

  const { status, text } = await stonegate.admin('/readyz');
  t.equal(status, 503, 'Stonegate is not ready meanwhile');
  t.match(text, '[-]shutdown failed: shutting down');
  await t.rejects(
    askOnce(destination, token, NAMESPACES),
    { code: 'ECONNREFUSED' },
    'no new client is accepted',
  );

  keystone.release();
  const answered = await inFlight.answered;
  t.match(answered, { status: 200, complete: true }, 'the GET gets its response');
  t.match(await stonegate.ended, { code: 0, signal: null });
});

t.test('SIGTERM during an upload: the upload is completed', async (t) => {
  const { stonegate, destination, keystoneToken } = await setUp(t);
  const body = JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'late' } });
  const upload = openRequest(destination, keystoneToken('alice'), '/api/v1/namespaces/default/configmaps', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': body.length },
    upload: true,
  });
  upload.body.write(body.slice(0, 10));
  await eventually(async () =>
    (await stonegate.admin('/metrics')).text.includes('stonegate_requests_active{kind="short"} 1'),
  );
  stonegate.signal('SIGTERM');
  await readyzIs(stonegate, 503);
  upload.body.end(body.slice(10));
  t.match(await upload.answered, { status: 201, complete: true });
  t.match(await stonegate.ended, { code: 0, signal: null });
});

t.test('requests are aborted after the shutdown grace period, and the process exits with 0', async (t) => {
  const { stonegate, destination, keystone, keystoneToken, apiServer } = await setUp(t, {
    server: { shutdownGrace: '300ms' },
  });
  const token = keystoneToken('alice');
  await askOnce(destination, token, NAMESPACES);
  apiServer.breakNext('hang', ({ url }) => url?.includes('hanging') ?? false);
  const slow = openRequest(destination, token, `${NAMESPACES}/hanging`);
  const hanging = await apiServer.arrival(({ url }) => url.includes('hanging'));
  apiServer.breakNext('hang', ({ url }) => url?.startsWith('/apis') ?? false);
  const discovery = openRequest(destination, token, '/apis');
  await apiServer.arrival(({ url }) => url.startsWith('/apis'));
  keystone.fault = 'hang';
  const unknown = openRequest(destination, keystoneToken('alice'), NAMESPACES);
  await eventually(() => keystone.hanging === 1);

  stonegate.signal('SIGTERM');
  for (const broken of [slow, discovery, unknown]) await t.rejects(broken.answered, { code: 'ECONNRESET' });
  t.equal(await hanging.ended, 'aborted', 'the request to the API server is aborted');
  const ended = await stonegate.ended;
  t.match(ended, { code: 0, signal: null });
  t.match(ended.stderr, 'the shutdown grace period is over');
  t.notMatch(ended.stderr, 'closing a component failed');
});

for (const ends of ['by itself', 'with the grace period'])
  t.test(`SIGTERM during an open exec, which continues until it ends ${ends}`, async (t) => {
    const { stonegate, destination, keystoneToken } = await setUp(t, {
      server: { shutdownGrace: ends === 'by itself' ? '1h' : '300ms' },
    });
    const socket = connectTLS({ ...destination, host: '127.0.0.1', ALPNProtocols: ['http/1.1'] });
    await once(socket, 'secureConnect');
    const client = new RawConnection(socket);
    client.send(
      [
        'POST /api/v1/namespaces/default/pods/web/exec?command=cat&stdin=true&stdout=true HTTP/1.1',
        'Host: stonegate',
        `Authorization: Bearer ${keystoneToken('alice')}`,
        'Connection: Upgrade',
        'Upgrade: SPDY/3.1',
        'X-Stream-Protocol-Version: v4.channel.k8s.io',
        '\r\n',
      ].join('\r\n'),
    );
    await client.until('101 Switching Protocols');
    stonegate.signal('SIGTERM');
    if (ends === 'by itself') {
      await readyzIs(stonegate, 503);
      t.equal(client.ended, false, 'the tunnel is still open');
      socket.end();
    }
    await client.closed;
    const ended = await stonegate.ended;
    t.match(ended, { code: 0, signal: null });
    t.equal(ended.stderr.includes('the shutdown grace period is over'), ends === 'with the grace period');
  });

t.test(
  'SIGTERM: clients are served until the drain is over, and are asked to connect elsewhere',
  async (t) => {
    const { stonegate, destination, keystoneToken, apiServer } = await setUp(t, { server: { drain: '1h' } });
    const token = keystoneToken('alice');
    const watch = openRequest(destination, token, WATCH);
    await watch.until('"settings"');
    stonegate.signal('SIGTERM');
    await readyzIs(stonegate, 503);
    const { status, headers } = await askOnce(destination, token, NAMESPACES, {
      headers: { connection: 'keep-alive' },
    });
    t.equal(status, 200, 'a new connection is served');
    t.equal(headers.connection, 'close');
    apiServer.seed.configMap('during-the-drain', {}, { tenant: 'acme' });
    await watch.until('during-the-drain');
    stonegate.signal('SIGINT');
    t.equal((await watch.answered).complete, true, 'SIGINT ends the drain');
    t.match(await stonegate.ended, { code: 0, signal: null });
  },
);

t.test('SIGHUP reloads the configuration and empties the cache; a watch continues', async (t) => {
  const { stonegate, destination, keystone, keystoneToken, apiServer, configure, provider } = await setUp(t);
  const token = keystoneToken('alice');
  // The watch uses another token, since the streams of a revoked token end soon after a reload.
  const watch = openRequest(destination, keystoneToken('alice'), WATCH);
  await watch.until('"settings"');
  t.equal((await askOnce(destination, await provider.idToken('carol'), NAMESPACES)).status, 200);
  t.equal((await askOnce(destination, token, NAMESPACES)).status, 200);
  keystone.revoke(token);
  t.equal((await askOnce(destination, token, NAMESPACES)).status, 200, 'the token is still cached');

  await configure({ authentication: { jwt: [] } });
  stonegate.signal('SIGHUP');
  await eventually(() => stonegate.logged.some(({ message }) => message === 'configuration reloaded'));
  const digests = stonegate.logged.flatMap(({ digest }) => (digest === undefined ? [] : [digest]));
  t.equal(
    new Set(digests).size,
    2,
    'the digest of the configuration is logged at the start and after the reload',
  );
  t.match(
    await askOnce(destination, token, NAMESPACES),
    { status: 401 },
    'Keystone is asked again after the reload',
  );
  t.match(await askOnce(destination, await provider.idToken('carol'), NAMESPACES), { status: 401 });
  apiServer.seed.configMap('after-the-signal', {}, { tenant: 'acme' });
  await watch.until('after-the-signal');
  watch.leave();
});

t.test('while Stonegate starts, it is alive, and /readyz names the step that is not done', async (t) => {
  const folder = t.testdir();
  const admin = `127.0.0.1:${await freePort()}`;
  const configuration = { admin: { bind: admin }, audit: { file: 'pipe' } };
  const { configFile } = await startTestbed(t, { folder, configuration });
  // Its audit log opens only when a process reads it.
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  const { serving, stop } = beginStonegate(configFile);
  t.teardown(stop);
  const ask = (path: string) => fetch(`http://${admin}${path}`, { headers: { connection: 'close' } });
  await eventually(async () => (await ask('/livez').catch(() => undefined))?.status === 200);
  const step = `[-]start failed: opening audit.file ${join(folder, 'pipe')}`;
  await eventually(async () => (await (await ask('/readyz')).text()).includes(step));
  t.equal((await ask('/readyz')).status, 503);
  t.equal(await (await ask('/metrics')).text(), '');
  const reader = await open(join(folder, 'pipe'), 'r+');
  t.teardown(() => reader.close());
  const stonegate = await serving;
  await readyzIs(stonegate, 200);
});

t.test('a bad configuration: exit 1 with every problem', async (t) => {
  const { configFile, configure } = await startTestbed(t);
  await configure({ tenancy: { mode: 'none' }, admin: { bind: 'here' }, surprise: { key: 1 } });
  const { code, stderr, stdout } = await runStonegate('serve', '--config', configFile);
  t.equal(code, 1);
  for (const path of ['tenancy.mode', 'admin.bind', 'surprise']) t.match(stderr, path);
  t.equal(stdout, '');
});

for (const listener of ['server', 'admin'] as const)
  for (const workers of [1, 2])
    t.test(
      `the port of ${listener} is taken (workers: ${workers}): exit 1 with a line that says so`,
      async (t) => {
        const { configFile, configure } = await startTestbed(t);
        const taken = createServer().listen(0, '127.0.0.1');
        t.teardown(() => taken.close());
        await once(taken, 'listening');
        const address = taken.address();
        const port = typeof address === 'object' ? address?.port : 0;
        const bind = { bind: `127.0.0.1:${port}` };
        await configure({
          server: { workers, ...(listener === 'server' && bind) },
          admin: listener === 'admin' ? bind : {},
        });
        const { code, stdout, stderr } = await runStonegate('serve', '--config', configFile);
        t.equal(code, 1);
        t.notMatch(
          stdout + stderr,
          /is not reached yet|ClientDestroyedError|shutting down/,
          'no message about anything but the cause',
        );
        t.match(stderr, `Stonegate could not be started: 127.0.0.1:${port} is in use"`);
        t.notMatch(stderr, /EADDRINUSE|node:|\.ts/, 'no stack');
      },
    );

for (const workers of [1, 2])
  t.test(
    `an audit log that cannot be opened (workers: ${workers}): exit 1 with a line that says so`,
    async (t) => {
      const folder = t.testdir();
      const { configFile, configure } = await startTestbed(t, { folder });
      await configure({ server: { workers }, audit: { file: folder } });
      const { code, stdout, stderr } = await runStonegate('serve', '--config', configFile);
      t.equal(code, 1);
      t.match(stderr, `Stonegate could not be started: ${folder} is a folder"`);
      t.notMatch(stderr, /EISDIR|node:|\.ts:/, 'no stack');
      t.notMatch(stdout + stderr, /is not reached yet|"serving"/, 'nothing else was started');
    },
  );
