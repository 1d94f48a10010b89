/** Two replicas that provision one cluster, and agree over a real Redis on which of them does it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { type App, createApp } from '../../src/app/app.ts';
import { loadConfiguration, systemSources } from '../../src/config/load.ts';
import { createLogger } from '../../src/observability/log.ts';
import { eventually } from '../support/eventually.ts';
import { admitProvisioner } from '../support/provisioner.ts';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { createTestbed, type Testbed } from '../support/testbed.ts';

async function startReplica({ configFile }: Testbed): Promise<App> {
  const result = await loadConfiguration(configFile, systemSources);
  if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join('\n'));
  return createApp({
    file: configFile,
    ...result,
    sources: systemSources,
    logger: createLogger('error', { write() {} }),
  });
}

/** How many runs of it have ended well. */
async function runsOf(app: App): Promise<number> {
  const series = 'stonegate_bindings_runs_total{trigger="periodic",result="ok"}';
  const line = (await app.metrics.text()).split('\n').find((each) => each.startsWith(series));
  return Number(line?.split(' ')[1] ?? 0);
}

t.test('of two replicas one provisions', { skip: redisMissing() ?? false }, async (t) => {
  const folder = t.testdir();
  const redis = await createRedisServer();
  t.teardown(() => redis.remove());
  const testbed = await createTestbed({ folder, mode: 'shared' });
  t.teardown(() => testbed.close());
  await admitProvisioner(testbed, { mode: 'shared' });
  await writeFile(join(folder, 'redis-url'), redis.url);
  const { keystone } = testbed;
  const password = {
    userName: 'bridge',
    userDomainName: 'Default',
    password: { fromFile: 'bridge-password' },
    scope: { system: true },
  };
  await testbed.configure({
    authentication: {
      keystone: { url: keystone.url, caFile: 'ca.crt', serviceCredential: { password } },
    },
    bindings: {
      provision: 'periodic',
      interval: '50ms',
      credential: { tokenFile: 'provisioner-token' },
    },
    cache: {
      redis: { url: { fromFile: 'redis-url' }, timeout: '2s' },
      sealingKeys: [{ fromFile: 'cache.key' }],
    },
  });
  const replicas = await Promise.all([startReplica(testbed), startReplica(testbed)]);
  t.teardown(() => Promise.all(replicas.map((app) => app.close())));
  const runs = () => Promise.all(replicas.map(runsOf));

  await eventually(async () => Math.max(...(await runs())) >= 5);
  t.equal(Math.min(...(await runs())), 0, 'and the other never did');

  const counts = await runs();
  const holder = counts.indexOf(Math.max(...counts));
  await replicas[holder]?.close();
  const other = replicas[1 - holder];
  await eventually(async () => other !== undefined && (await runsOf(other)) > 0);
  t.pass('when it has ended, the other goes on');

  const lease = await redis.command('KEYS', 'stonegate:lease:*');
  t.same(lease, ['stonegate:lease:provisioning']);
  await other?.close();
  t.same(await redis.command('KEYS', 'stonegate:lease:*'), [], 'and the last gives the lease back');
});
