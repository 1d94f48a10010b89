import t, { type Test } from 'tap';
import { DocumentChanges } from '../../../src/cache/document-changes.ts';
import { createDrops, drop } from '../../../src/cache/drops.ts';
import type { SharedCache } from '../../../src/cache/shared-cache.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { StreamLifetimes } from '../../../src/proxy/streams/stream-lifetimes.ts';
import { StreamRegistry } from '../../../src/proxy/streams/stream-registry.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { createMemoryStore } from '../../support/redis/memory-store.ts';
import { createReplica } from '../../support/redis/replica.ts';
import { streamFacts } from '../../support/stream-facts.ts';

const HOUR = 3_600_000;

/**
 * Opens a watch in a process with that cache. Returns how often its credential was validated again.
 */
function openWatch(t: Test, clock: FakeClock, shared: SharedCache) {
  const context = { clock, random: systemRandom, telemetry: noTelemetry, logger: silentLogger };
  const registry = new StreamRegistry({ limits: { perUser: 1, perTenant: 1 }, ...context });
  let validated = 0;
  const lifetimes = new StreamLifetimes({
    registry,
    settings: { endWithCredential: true, recheck: HOUR, tunnelMaxAge: HOUR },
    drops: createDrops(shared),
    async recheck() {
      validated += 1;
    },
    permits: () => true,
    ...context,
  });
  t.teardown(() => lifetimes.stop());
  registry.open(streamFacts());
  return () => validated;
}

async function pass(clock: FakeClock, seconds: number) {
  for (let second = 0; second < seconds; second += 1) {
    clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function replicas() {
  const clock = createFakeClock();
  const store = createMemoryStore();
  const [here, there] = [store.connect(), store.connect()].map(
    (connection) => createReplica({ clock, store: connection }).shared,
  );
  if (here === undefined || there === undefined) throw new Error('two were made');
  return { clock, here, there };
}

t.test('a tenant that writes definitions causes no stream to be validated again', async (t) => {
  const { clock, here, there } = replicas();
  const validated = openWatch(t, clock, there);
  const changes = new DocumentChanges({ shared: here, period: 10_000, clock, logger: silentLogger });
  for (let second = 0; second < 20; second += 1) {
    changes.changed('globex');
    changes.changed(undefined);
    await pass(clock, 1);
  }
  t.equal(validated(), 0);
});

t.test('a drop of a user causes every stream to be validated again, in other replicas too', async (t) => {
  const { clock, here, there } = replicas();
  const validated = openWatch(t, clock, there);
  await drop(here, { user: 'carol' });
  await pass(clock, 10);
  t.equal(validated(), 1);
});
