/**
 * A replica's connection to a real Redis, closed with the test.
 */
import type { Test } from 'tap';
import { createRedisStore } from '../../../src/cache/redis.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';

export async function connectedStore(t: Pick<Test, 'teardown'>, url: string) {
  const store = createRedisStore({
    url,
    timeout: 2_000,
    keyPrefix: 'stonegate:',
    sentinels: [],
    cluster: false,
    clock: systemClock,
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  t.teardown(() => store.close());
  await store.whenReady(10_000);
  return store;
}
