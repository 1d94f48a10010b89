/** One request to the backend for all replicas: single-flight over a real Redis. */
import t from 'tap';
import { systemClock } from '../../src/lib/clock.ts';
import { connectedStore } from '../support/redis/connected-store.ts';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { createBackend, createReplica } from '../support/redis/replica.ts';

const missing = redisMissing();
if (missing !== undefined) t.plan(0, missing);
else defineTests();

async function setUp(t: { teardown(action: () => unknown): void }) {
  const server = await createRedisServer();
  t.teardown(() => server.remove());
  const backend = createBackend(systemClock);
  /** The responses that are not given to a caller yet. */
  const pending: ((name: string | undefined) => void)[] = [];
  backend.answer = () => new Promise((resolve) => pending.push(resolve));
  const replicaOf = async () => {
    const store = await connectedStore(t, server.url);
    const { cache } = createReplica({ clock: systemClock, store, leases: store });
    return { ask: async (token: string) => cache.lookup(token, backend.load), store };
  };
  const replicas = [await replicaOf(), await replicaOf(), await replicaOf()];
  const answer = async (name: string | undefined) => {
    while (pending.length === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    pending.shift()?.(name);
  };
  return { server, backend, replicas, answer };
}

function defineTests(): void {
  t.test('replicas with concurrent requests call the backend once', async (t) => {
    const { backend, replicas, answer } = await setUp(t);
    for (const token of ['one', 'two', 'three']) {
      backend.asked = [];
      const asked = Promise.all(replicas.map(({ ask }) => ask(token)));
      await answer('alice');
      t.match(await asked, [{ name: 'alice' }, { name: 'alice' }, { name: 'alice' }]);
      t.equal(backend.asked.length, 1);
    }
  });

  t.test('after a refusal, the next replica calls for itself, and does not wait for long', async (t) => {
    const { backend, replicas, answer } = await setUp(t);
    const asked = Promise.all(replicas.map(({ ask }) => ask('bad')));
    for (const _ of replicas) await answer(undefined);
    t.match(await asked, [undefined, undefined, undefined]);
    t.equal(backend.asked.length, replicas.length);
  });

  t.test('a replica that dies while it holds the lock does not block the others for ever', async (t) => {
    const { backend, replicas, answer } = await setUp(t);
    const [first, second] = replicas;
    // It never gets its answer.
    void first?.ask('token');
    while (backend.asked.length === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    const asked = second?.ask('token');
    while (backend.asked.length === 1) await new Promise<void>((resolve) => setImmediate(resolve));
    await answer(undefined);
    await answer('alice');
    t.match(await asked, { name: 'alice' });
  });
}
