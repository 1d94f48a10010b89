/**
 * The portal as `stonegate serve` assembles it: reloads, a real Redis, a real Keystone.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { createPasswordLogin } from '../../src/features/portal/portal-password-login.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { noTelemetry } from '../../src/lib/telemetry.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { missingKeystone, startRealKeystone } from '../support/keystone/real-keystone.ts';
import { createPortalVisitor } from '../support/portal-visitor.ts';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { startStonegate } from '../support/stonegate.ts';

async function setUp(t: Test, configuration: Record<string, object> = {}) {
  const port = await freePort();
  const stonegate = await startStonegate(t, { portal: { port }, configuration });
  return {
    stonegate,
    port,
    visitor: () => createPortalVisitor({ ca: stonegate.authority.cert, publicPort: port }),
  };
}

t.test('a reload changes what is shown, and no user has to sign in again', async (t) => {
  const { stonegate, visitor } = await setUp(t);
  const alice = visitor();
  t.equal((await alice.signIn()).status, 303);
  await stonegate.configure({ portal: { keystone: { displayName: 'The Cloud' } } });
  await stonegate.app.reload();
  t.match(await alice.get('/'), { status: 200, body: /signed in with The Cloud/ });
});

t.test(
  'users get the certificates of a file of authorities, and not the key that is in it too',
  async (t) => {
    const { stonegate, visitor } = await setUp(t);
    const { authority, configFile, keystone, configure, app } = stonegate;
    const key = '-----BEGIN PRIVATE KEY-----\nMC4CAQ==\n-----END PRIVATE KEY-----\n';
    await writeFile(join(dirname(configFile), 'ca-with-key.pem'), `${key}${authority.cert}\n`);
    const caFile = 'ca-with-key.pem';
    await configure({
      authentication: { keystone: { url: keystone.url, caFile } },
      portal: { kubernetes: { caFile } },
    });
    await app.reload();
    const alice = visitor();
    t.equal((await alice.signIn()).status, 303);
    const { body } = await alice.get('/kubeconfig');
    const { clusters, users } = parse(body);
    const [, ofKeystone = ''] =
      /--os-cacert=data:;base64,(\S+)/.exec(users[0].user.exec.args.join(' ')) ?? [];
    for (const sent of [clusters[0].cluster['certificate-authority-data'], ofKeystone])
      t.equal(Buffer.from(sent, 'base64').toString().trim(), authority.cert.trim());
  },
);

t.test('a portal that is removed from the configuration serves no request any more', async (t) => {
  const { stonegate, visitor } = await setUp(t);
  const { portal: _portal, ...rest } = parse(await readFile(stonegate.configFile, 'utf8'));
  await writeFile(stonegate.configFile, stringify(rest));
  await stonegate.app.reload();
  t.equal((await visitor().get('/login')).status, 404);
  t.match(stonegate.logged.join(''), 'need a restart');
});

t.test('a sign-in at a slow Keystone during a reload succeeds', async (t) => {
  const { stonegate, visitor } = await setUp(t);
  const { keystone, configure, app } = stonegate;
  keystone.fault = 'hang';
  const signingIn = visitor().signIn();
  await eventually(() => keystone.hanging > 0);
  await configure({
    authentication: { keystone: { url: keystone.url, caFile: 'ca.crt', timeout: '60s', cacheTTL: '50s' } },
  });
  await app.reload();
  keystone.release();
  t.equal((await signingIn).status, 303);
});

t.test(
  'sessions are stored in Redis, sealed, and end when Redis loses them',
  { skip: redisMissing() ?? false },
  async (t) => {
    const redis = await createRedisServer({ tcp: true });
    t.teardown(() => redis.remove());
    process.env.PORTAL_TEST_REDIS = redis.url;
    const cache = {
      redis: { url: { fromEnv: 'PORTAL_TEST_REDIS' }, timeout: '2s' },
      sealingKeys: [{ fromFile: 'cache.key' }],
    };
    const { visitor } = await setUp(t, { cache });
    const alice = visitor();
    t.equal((await alice.signIn()).status, 303);
    t.match(await alice.get('/'), { status: 200, body: /acme:alice/ });
    const names = await redis.command('KEYS', '*');
    t.ok(Array.isArray(names) && names.length > 0);
    t.notMatch(JSON.stringify(names), /alice|acme/);
    await redis.command('FLUSHALL');
    t.equal((await alice.get('/')).status, 303);
    await redis.stop();
    t.match(await visitor().signIn(), { status: 503, body: /Sign-in failed/ });
  },
);

t.test(
  'a real Keystone signs in, lists projects and exchanges tokens',
  { skip: missingKeystone() },
  async (t) => {
    const keystone = await startRealKeystone(t);
    const login = createPasswordLogin({
      url: keystone.url,
      timeout: 10_000,
      clock: systemClock,
      logger: silentLogger,
      telemetry: noTelemetry,
    });
    t.teardown(() => login.close());
    const admin = { user: 'admin', domain: 'Default', password: 'admin-pass', project: 'admin' };
    const { signal } = new AbortController();
    t.match(await login.signIn(admin, signal), {
      token: /^gAAAAA/,
      projects: [{ id: /^\w{32}$/, name: 'admin' }],
    });
    t.same(await login.signIn({ ...admin, password: 'x' }, signal), { refused: 'wrong' });
    const unscoped = await login.signIn({ ...admin, project: undefined }, signal);
    t.match(unscoped, { token: /^gAAAAA/ });
    if ('refused' in unscoped) return;
    const [project] = unscoped.projects;
    const scoped = await login.rescope(unscoped.token, project?.id ?? '');
    t.match(scoped, /^gAAAAA/);
    t.match(
      await login.rescope(scoped ?? '', project?.id ?? ''),
      /^gAAAAA/,
      'a scoped token is exchanged too',
    );
    t.equal(await login.rescope(unscoped.token, '0'.repeat(32)), undefined);
  },
);
