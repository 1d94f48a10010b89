/**
 * Two replicas that share a real Redis: looked-up roles, drops of them, and revocation events.
 */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { type RoleSiteOptions, startRoleSite } from '../support/role-site.ts';
import { startReplica } from '../support/stonegate.ts';
import { runStonegate } from '../support/stonegate-process.ts';

const IN_WEB = '/api/v1/namespaces/web/configmaps';

const missing = redisMissing();
if (missing !== undefined) t.plan(0, missing);
else defineTests();

async function setUp(t: Test, keystone: RoleSiteOptions['keystone']) {
  const redis = await createRedisServer({ tcp: true });
  t.teardown(() => redis.remove());
  const cache = {
    redis: { url: { fromEnv: 'STONEGATE_TEST_REDIS' }, timeout: '5s' },
    sealingKeys: [{ fromFile: 'cache.key' }],
  };
  process.env.STONEGATE_TEST_REDIS = redis.url;
  const site = await startRoleSite(t, {
    ...(keystone && { keystone }),
    configuration: { cache, limits: { streams: { recheck: '1h' } } },
  });
  const { configFile } = site;
  const replica = await startReplica(t, site);
  const calls = (what: string) => site.keystone.calls.filter((call) => call === `GET /v3/${what}`).length;
  return {
    ...site,
    calls,
    first: (token: string) => site.statusOf(token, IN_WEB),
    second: async (token: string) => (await replica.ask(token, IN_WEB)).status,
    drop: (...words: string[]) => runStonegate('cache', 'drop', ...words, '--config', configFile),
    keys: async () => {
      const names = await redis.command('KEYS', 'stonegate:entry:*');
      return Array.isArray(names) ? names.length : 0;
    },
  };
}

function defineTests() {
  t.test('`cache drop` of the user, by name or id, or of the tenant removes cached roles', async (t) => {
    const { keystone, directory, erin, web, first, second, drop, keys, calls } = await setUp(t, {
      roleAssignments: { cacheTTL: '10m' },
      revocationEvents: false,
    });
    const token = keystone.issue(erin);
    t.equal(await first(token), 200);
    await eventually(async () => (await keys()) === 3);
    const before = calls('role_assignments');
    t.equal(await second(token), 200);
    t.equal(calls('role_assignments'), before, 'one replica uses the roles that the other has looked up');
    let held = true;
    for (const user of [erin.id, 'acme:erin']) {
      held = !held;
      directory[held ? 'assign' : 'unassign'](erin, 'member', { project: web });
      t.equal((await drop('--user', user)).code, 0);
      await eventually(async () => (await first(token)) === (held ? 200 : 403));
      await eventually(async () => (await second(token)) === (held ? 200 : 403));
    }
    web.enabled = false;
    t.equal((await drop('--tenant', 'acme')).code, 0);
    await eventually(async () => (await first(token)) === 403);
    await eventually(async () => (await second(token)) === 403);
  });

  t.test('a revocation event removes an entry in both replicas, and later entries stay', async (t) => {
    const { keystone, erin, first, second, calls } = await setUp(t, {
      cacheTTL: '1h',
      roleAssignments: { cacheTTL: '1h' },
      revocationEvents: { interval: '50ms' },
    });
    const old = keystone.issue(erin);
    t.equal(await first(old), 200);
    t.equal(await second(old), 200);
    keystone.revokeAllOf(erin);
    await eventually(async () => (await first(old)) === 401);
    await eventually(async () => (await second(old)) === 401);
    const polls = async (count: number) => {
      const goal = calls('OS-REVOKE/events') + count;
      await eventually(() => calls('OS-REVOKE/events') >= goal);
    };
    await polls(4);
    const fresh = keystone.issue(erin);
    t.equal(await first(fresh), 200);
    t.equal(await second(fresh), 200);
    const [validations, listings] = [calls('auth/tokens'), calls('role_assignments')];
    await polls(8);
    t.equal(await first(fresh), 200);
    t.equal(await second(fresh), 200);
    t.equal(calls('auth/tokens'), validations, 'an event is processed once by all replicas together');
    t.equal(calls('role_assignments'), listings);
  });
}
