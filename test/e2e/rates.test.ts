/** Three processes with one Redis admit no more than the budget together, whatever happens to Redis. */
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createKubectl, findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { createHttpsClient, type Reply } from '../support/https-client.ts';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { startStonegate } from '../support/stonegate.ts';
import { serveStonegate } from '../support/stonegate-process.ts';
import { startTestbed } from '../support/testbed.ts';

const BUDGET = 60;
const PROCESSES = 3;

const skip = redisMissing() ?? false;
const [kubectlBinary] = findKubectls();

async function setUp(t: Test) {
  const redis = await createRedisServer({ tcp: true });
  t.teardown(() => redis.remove());
  const folder = t.testdir();
  const testbed = await startTestbed(t, {
    folder,
    keystoneConfiguration: { cacheTTL: '1h' },
    configuration: {
      cache: {
        redis: { url: { fromFile: 'redis-url' }, timeout: '4s' },
        sealingKeys: [{ fromFile: 'cache.key' }],
      },
      limits: {
        // Nothing is refilled during the test.
        perTenant: { perSecond: 0.0001, burst: BUDGET },
        processes: PROCESSES,
      },
    },
  });
  await writeFile(join(folder, 'redis-url'), redis.url);
  const processes = await Promise.all(
    Array.from({ length: PROCESSES }, () => serveStonegate(testbed.configFile)),
  );
  t.teardown(() => Promise.all(processes.map((process) => process.stop())));
  const clients = processes.map(({ port }) => {
    const client = createHttpsClient({ port, ca: testbed.authority.cert });
    t.teardown(() => client.close());
    return client;
  });
  const tokens = { alice: testbed.keystoneToken('alice'), bob: testbed.keystoneToken('bob') };
  const refused: Reply[] = [];
  return {
    redis,
    refused,
    /** Asks every process for the whole budget. @returns how many requests they admit */
    async admitted(user: 'alice' | 'bob') {
      const replies = await Promise.all(
        clients.flatMap(({ ask }) => Array.from({ length: BUDGET }, () => ask(tokens[user], '/version'))),
      );
      refused.push(...replies.filter(({ status }) => status === 429));
      return replies.filter(({ status }) => status === 200).length;
    },
    /** Resolves when every process admits its own share (1), or when Redis decides for every process (0). */
    async untilShares(inForce: 0 | 1) {
      for (const [at, process] of processes.entries())
        await eventually(async () => {
          await clients[at]?.ask(tokens.bob, '/version');
          const { text } = await process.admin('/metrics');
          return text.includes(`stonegate_rate_shares_in_force ${inForce}`);
        });
    },
  };
}

t.test('D502, D515: a tenant never has more than its budget across all processes', { skip }, async (t) => {
  const { admitted, refused, redis } = await setUp(t);
  const first = await admitted('alice');
  t.ok(first <= BUDGET && first > BUDGET / 2, `${first} were admitted`);
  t.ok(first + (await admitted('alice')) <= BUDGET);
  const [reply] = refused;
  const body = reply?.json();
  t.match(body, { kind: 'Status', code: 429, reason: 'TooManyRequests' });
  t.match(body?.message, 'the tenant "acme" is over its rate of 0.0001 a second (limits.perTenant)');
  t.match(body, { details: { retryAfterSeconds: Number(reply?.headers['retry-after']) } });
  t.ok(await admitted('bob'), 'another tenant is not affected');
  const keys = String(await redis.command('KEYS', 'stonegate:rate:*'));
  t.match(keys, 'stonegate:rate:');
  t.notMatch(keys, /acme|alice|globex|bob/);
});

t.test(
  'D510 a tenant never has more than its budget while Redis is frozen, thawed, killed and back empty',
  { skip },
  async (t) => {
    const { admitted, untilShares, redis } = await setUp(t);
    const before = await admitted('alice');
    t.ok(before <= BUDGET);

    redis.freeze();
    t.teardown(() => redis.thaw());
    t.equal(await admitted('bob'), BUDGET, 'each process admits its share');
    t.equal(await admitted('bob'), 0);

    redis.thaw();
    await untilShares(0);
    const thawed = await admitted('bob');
    t.ok(thawed <= BUDGET, `${thawed} after the thaw`);
    t.equal(await admitted('bob'), 0);

    await redis.stop();
    const without = await admitted('alice');
    t.ok(without <= BUDGET, `${without} without Redis`);
    t.equal(await admitted('alice'), 0);

    await redis.start();
    await untilShares(0);
    const again = await admitted('alice');
    t.ok(again <= BUDGET, `${again} with an empty Redis`);
    t.equal(await admitted('alice'), 0);
  },
);

t.test('D513 a flood of bad tokens for a tenant does not count against the tenant', async (t) => {
  const { ask, keystoneToken } = await startStonegate(t, {
    configuration: {
      limits: {
        perTenant: { perSecond: 0.001, burst: 10 },
        unknownCredentials: { perSource: { perSecond: 0.001, burst: 20 } },
      },
    },
  });
  const alice = keystoneToken('alice');
  t.equal((await ask(alice, '/version')).status, 200);
  const path = '/api/v1/tenants/acme/namespaces/default/pods/web';
  const flood = Array.from({ length: 40 }, (_, at) => ask(`gAAAAA-unknown-${at}`, path));
  const codes = (await Promise.all(flood)).map(({ body }) => /\w+RateExceeded/.exec(body)?.[0]);
  t.same(new Set(codes), new Set([undefined, 'CredentialRateExceeded']));
  for (let i = 0; i < 9; i += 1) t.equal((await ask(alice, '/version')).status, 200);
});

t.test(
  'D517 kubectl waits as long as the response says, and shows no error',
  {
    skip: kubectlBinary === undefined && NO_KUBECTL,
  },
  async (t) => {
    const { url, authority, app, keystoneToken } = await startStonegate(t, {
      configuration: { limits: { perTenant: { perSecond: 4, burst: 10 } } },
    });
    const target = { server: url, ca: authority.cert, token: keystoneToken('alice') };
    const kubectl = createKubectl(t, kubectlBinary ?? '', target);
    const runs = Array.from({ length: 14 }, () => kubectl.run('get --raw /version'));
    for (const { code, stderr } of await Promise.all(runs)) t.same({ code, stderr }, { code: 0, stderr: '' });
    t.notMatch(await app.metrics.text(), 'stonegate_rate_limited_total{limit="tenant",result="refused"} 0');
  },
);

t.test('D526 a reload with the same tenant twice is refused, and the old limits stay', async (t) => {
  const tenants = { acme: { perSecond: 0.001, burst: 10 } };
  const { ask, app, configFile, logged, keystoneToken } = await startStonegate(t, {
    configuration: { limits: { tenants }, log: { level: 'info' } },
  });
  const alice = keystoneToken('alice');
  for (let i = 0; i < 10; i += 1) t.equal((await ask(alice, '/version')).status, 200);
  await appendFile(configFile, 'limits: { tenants: { acme: { perSecond: 1000, burst: 1000 } } }\n');
  await app.reload();
  t.equal((await ask(alice, '/version')).status, 429);
  t.match(await app.metrics.text(), /^stonegate_last_reload_successful 0$/m);
  t.match(logged.join(''), 'map keys must be unique');
});
