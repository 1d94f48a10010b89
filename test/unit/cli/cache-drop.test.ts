import { join } from 'node:path';
import t from 'tap';
import { type CacheDropTarget, cacheDrop } from '../../../src/cli/cache-drop.ts';
import { printedIO } from '../../support/printed-io.ts';
import { createAuthority } from '../../support/tls/authority.ts';

const { cert, key } = await (await createAuthority()).server('localhost');

const CONFIGURATION = `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { tls: { certFile: tls.crt, keyFile: tls.key } }
upstream: { server: "https://10.0.0.1:6443", credential: { tokenFile: token } }
tenancy: { mode: arktos }
authentication: { keystone: { url: "https://keystone:5000/v3" } }
`;
const SHARED = `cache:
  redis: { url: { fromFile: redis.url } }
  sealingKeys: [ { fromFile: cache.key } ]
`;

const FILES = {
  'alone.yaml': CONFIGURATION,
  'shared.yaml': `${CONFIGURATION}${SHARED}`,
  'bad.yaml': 'kind: none',
  'tls.crt': cert,
  'tls.key': key,
  token: 'abc',
  'redis.url': 'redis://127.0.0.1:6379',
  'cache.key': Buffer.alloc(32, 1).toString('base64'),
};

function setUp(t: { testdir(files: Record<string, string>): string }) {
  const folder = t.testdir(FILES);
  const dropped: CacheDropTarget[] = [];
  const { io, printed } = printedIO();
  const run = (...argv: string[]) =>
    cacheDrop(argv, io, {
      async drop(_loaded, target) {
        if ('user' in target && target.user === 'unknown')
          throw new Error('Redis did not take the drop: OOM');
        dropped.push(target);
      },
    });
  return { run, dropped, printed, file: (name: string) => join(folder, name) };
}

t.test('a user is dropped', async (t) => {
  const { run, dropped, printed, file } = setUp(t);
  t.equal(await run('drop', '--user', 'alice', '--config', file('shared.yaml')), 0);
  t.same(dropped, [{ user: 'alice' }]);
  t.equal(
    printed.stdout,
    'Whatever was cached of the user alice until now counts no more, in any replica.\n',
  );
});

t.test('a tenant is dropped', async (t) => {
  const { run, dropped, printed, file } = setUp(t);
  t.equal(await run('drop', '--tenant', 'acme', '--config', file('shared.yaml')), 0);
  t.same(dropped, [{ tenant: 'acme' }]);
  t.match(printed.stdout, /the tenant acme/);
});

t.test('a drop that Redis does not take is a 1 that says why', async (t) => {
  const { run, printed, file } = setUp(t);
  t.equal(await run('drop', '--user', 'unknown', '--config', file('shared.yaml')), 1);
  t.same(printed, { stdout: '', stderr: 'stonegate cache: Redis did not take the drop: OOM\n' });
});

t.test('without Redis it says what to do instead', async (t) => {
  const { run, dropped, printed, file } = setUp(t);
  t.equal(await run('drop', '--user', 'alice', '--config', file('alone.yaml')), 1);
  t.match(printed.stderr, /has no cache\.redis.* Send SIGHUP/);
  t.same(dropped, []);
});

t.test('a wrong configuration is a 1 with its problems', async (t) => {
  const { run, printed, file } = setUp(t);
  t.equal(await run('drop', '--user', 'alice', '--config', file('bad.yaml')), 1);
  t.match(printed.stderr, /^kind/m);
});

t.test('--help says how it is used', async (t) => {
  const { run, printed } = setUp(t);
  t.equal(await run('--help'), 0);
  t.match(printed.stdout, /^Usage: stonegate cache drop/);
});

for (const [what, argv, message] of [
  ['another word than drop', ['empty'], 'the command is: stonegate cache drop'],
  ['neither user nor tenant', ['drop', '--config', 'c'], '--user USER or --tenant TENANT is required'],
  ['an empty name', ['drop', '--user', '', '--config', 'c'], '--user USER or --tenant TENANT is required'],
  ['both user and tenant', ['drop', '--user', 'a', '--tenant', 'b'], 'exclude each other'],
  ['no configuration', ['drop', '--user', 'a'], '--config FILE is required'],
] as const) {
  t.test(`${what} is a 2`, async (t) => {
    const { run, printed } = setUp(t);
    t.equal(await run(...argv), 2);
    t.match(printed.stderr, message);
  });
}
