/** The shared store on a Redis with TLS and on a Redis Cluster. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { createRedisStore, type RedisStoreOptions } from '../../src/cache/redis.ts';
import type { SharedStore } from '../../src/cache/shared-store.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { noTelemetry } from '../../src/lib/telemetry.ts';
import { eventually } from '../support/eventually.ts';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { createAuthority } from '../support/tls/authority.ts';

const missing = redisMissing();
if (missing !== undefined) t.plan(0, missing);
else defineTests();

function connect(options: Pick<RedisStoreOptions, 'url'> & Partial<RedisStoreOptions>) {
  return createRedisStore({
    timeout: 2_000,
    keyPrefix: 'stonegate:',
    sentinels: [],
    cluster: false,
    clock: systemClock,
    logger: silentLogger,
    telemetry: noTelemetry,
    ...options,
  });
}

/** Whether the store can do what the cache needs: set, get, delete and publish. */
async function works(store: SharedStore) {
  const told: string[] = [];
  store.listen({ onMessage: (message) => told.push(message), onGap() {} });
  const names = ['stonegate:one', 'stonegate:two', 'stonegate:three'];
  for (const name of names) await eventually(() => store.set(name, name, 60_000));
  const found = await store.get(names, 100);
  await store.delete(names);
  const gone = await store.get(names, 100);
  await eventually(async () => (await store.publish('drop')) && told.includes('drop'));
  return found?.map(String).join() === names.join() && gone?.every((value) => value === undefined) === true;
}

function defineTests() {
  t.test('the store works with Redis over TLS and a CA of its own', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'stonegate-redis-tls-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const authority = await createAuthority();
    const { cert, key } = await authority.server('redis');
    const files = { 'tls-cert-file': cert, 'tls-key-file': key, 'tls-ca-cert-file': authority.cert };
    const configuration = Object.entries(files).map(([option, text]) => {
      writeFileSync(join(folder, option), text);
      return `${option} ${join(folder, option)}`;
    });
    const server = await createRedisServer({
      tcp: 'tls',
      configuration: [...configuration, 'tls-auth-clients no'],
    });
    t.teardown(() => server.remove());
    const url = `rediss://localhost:${server.port}/0`;
    const store = connect({ url, ca: authority.cert });
    t.teardown(() => store.close());
    t.ok(await works(store));

    const distrusting = connect({ url, ca: (await createAuthority('another')).cert });
    t.teardown(() => distrusting.close());
    await eventually(() => /certificate/.test(distrusting.problem() ?? ''));
    t.equal(await distrusting.get(['stonegate:one'], 100), undefined, 'another CA is not trusted');
  });

  t.test('the store works with a Redis Cluster', async (t) => {
    const server = await createRedisServer({
      tcp: true,
      configuration: ['cluster-enabled yes', 'cluster-announce-ip 127.0.0.1'],
    });
    t.teardown(() => server.remove());
    await server.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await eventually(async () => /cluster_state:ok/.test(String(await server.command('CLUSTER', 'INFO'))));
    const store = connect({ url: server.url, cluster: true });
    t.teardown(() => store.close());
    t.ok(await works(store));
  });
}
