/**
 * Replicas of `stonegate serve` as processes behind a load balancer, with one real Redis, one configuration,
 * a real kube-apiserver and the testbed’s Keystone.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { eventually } from '../eventually.ts';
import { prepareKubernetesSite } from '../kubernetes/site.ts';
import { createRedisServer } from '../redis/redis-server.ts';
import { serveStonegate } from '../stonegate-process.ts';
import { startLoadBalancer } from './load-balancer.ts';

export const NAMESPACE = 'acme';

export type ReplicaSite = Awaited<ReturnType<typeof startReplicaSite>>;

/** The user alice may do everything in `NAMESPACE`. Everything ends with the test. */
export async function startReplicaSite(t: Test) {
  const redis = await createRedisServer({ tcp: true });
  t.teardown(() => redis.remove());
  const { kubernetes, testbed, letWork } = await prepareKubernetesSite(t, {
    // No entry is refreshed during a test.
    keystoneConfiguration: { cacheTTL: '1h' },
    configuration: {
      // A test ends the drain itself once the load balancer has reacted to it.
      server: { drain: '1h', shutdownGrace: '2m' },
      cache: {
        redis: { url: { fromFile: 'redis-url' }, timeout: '5s' },
        sealingKeys: [{ fromFile: 'cache.key' }],
      },
      limits: { unknownCredentials: { perSource: { perSecond: 10_000, burst: 10_000 } } },
    },
  });
  t.teardown(() => testbed.close());
  const folder = dirname(testbed.configFile);
  await writeFile(join(folder, 'redis-url'), redis.url);
  await letWork(NAMESPACE, 'acme:alice');
  const balancer = await startLoadBalancer(t);
  return {
    kubernetes,
    testbed,
    redis,
    balancer,
    /** Starts another replica; resolves when the load balancer sends connections to it. */
    async addReplica() {
      const replica = await serveStonegate(testbed.configFile);
      t.teardown(() => replica.stop());
      await eventually(async () => (await replica.admin('/readyz')).status === 200);
      await eventually(async () =>
        /backend="keystone",result="ok"/.test((await replica.admin('/metrics')).text),
      );
      await balancer.add(replica);
      return replica;
    },
    /** How many tokens Keystone has validated. */
    validations: () => testbed.keystone.calls.filter((call) => call === 'GET /v3/auth/tokens').length,
  };
}
