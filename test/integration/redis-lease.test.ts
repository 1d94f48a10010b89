/** Leases over a real Redis, by which of several replicas one asks a backend. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { connectedStore } from '../support/redis/connected-store.ts';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';

const NAME = 'stonegate:flight:entry';
const missing = redisMissing();
if (missing !== undefined) t.plan(0, missing);
else defineTests();

async function setUp(t: { teardown(action: () => unknown): void }) {
  const server = await createRedisServer();
  t.teardown(() => server.remove());

  /** One more replica, connected. */
  async function replica(ttl = 60_000) {
    const store = await connectedStore(t, server.url);
    const owner = randomUUID();
    return {
      hold: () => store.acquireLease(NAME, owner, ttl),
      release: () => store.releaseLease(NAME, owner),
      crash: () => store.close(),
    };
  }

  return { server, replica };
}

function defineTests(): void {
  t.test('of concurrent requests for the lease, one gets it', async (t) => {
    const { replica } = await setUp(t);
    const replicas = await Promise.all([replica(), replica(), replica(), replica()]);
    const held = await Promise.all(replicas.map((each) => each.hold()));
    t.equal(held.filter((each) => each).length, 1);
  });

  t.test('a released lease is free, and only its holder can release it', async (t) => {
    const { replica } = await setUp(t);
    const [one, other] = [await replica(), await replica()];
    await one.hold();
    await other.release();
    t.equal(await other.hold(), false);
    await one.release();
    t.equal(await other.hold(), true);
    await one.release();
    t.equal(await one.hold(), false);
  });

  t.test('the lease of a replica that has crashed runs out', async (t) => {
    const { replica } = await setUp(t);
    const [one, other] = [await replica(100), await replica()];
    await one.hold();
    one.crash();
    await eventually(() => other.hold());
    t.pass('and the other goes on');
  });

  t.test('while Redis is down no replica holds it', async (t) => {
    const { server, replica } = await setUp(t);
    const one = await replica();
    t.equal(await one.hold(), true);
    await server.stop();
    t.equal(await one.hold(), false);
    await t.resolves(one.release());
    await server.start();
    await eventually(() => one.hold());
  });
}
