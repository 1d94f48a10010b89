/**
 * Requests of one tenant never block those of another: each tenant has its own permits and its own
 * bounded queue.
 */
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { KeyedSemaphore, type SemaphoreOptions } from '../../../src/limits/keyed-semaphore.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const TIMEOUT = 20_000;

function setUp(options: Partial<SemaphoreOptions> = {}) {
  const clock = createFakeClock();
  const outcomes: string[] = [];
  const all = new KeyedSemaphore({
    clock,
    permits: Number.POSITIVE_INFINITY,
    permitsPerKey: 1,
    queue: Number.POSITIVE_INFINITY,
    queuePerKey: Number.POSITIVE_INFINITY,
    queueTimeout: TIMEOUT,
    refusal: (reason, key) => new Error(reason === 'full' ? `is too many for ${key}` : 'is too late'),
    ...options,
  });
  return {
    clock,
    outcomes,
    all,
    /** Records `NAME runs`, `NAME left`, or the message of the refusal. */
    acquire(name: string, key: string, { size = 1, signal }: { size?: number; signal?: AbortSignal } = {}) {
      all
        .of(key)
        .acquire(signal, size)
        .then(
          (granted) => outcomes.push(`${name} ${granted ? 'runs' : 'left'}`),
          ({ message }: Error) => outcomes.push(`${name} ${message}`),
        );
    },
  };
}

t.test('a tenant without free permits waits in its own queue, and no other tenant does', async (t) => {
  const { all, outcomes, acquire, clock } = setUp();
  const acme = all.of('acme');
  t.ok(acme.tryAcquire());
  t.notOk(acme.tryAcquire());
  acquire('one', 'acme');
  acquire('two', 'acme');
  t.ok(all.of('globex').tryAcquire());
  acme.release();
  await turn();
  t.same(outcomes, ['one runs']);
  t.notOk(acme.tryAcquire(), 'requests in the queue come first');
  acme.release();
  acme.release();
  await turn();
  t.same(outcomes, ['one runs', 'two runs']);
  t.equal(acme.inUse, 0);
  t.equal(clock.pending, 0);
});

t.test('if no permit is free, tenants are served in turn', async (t) => {
  const { all, outcomes, acquire } = setUp({ permits: 2, permitsPerKey: 2 });
  const [acme, globex] = [all.of('acme'), all.of('globex')];
  acme.tryAcquire();
  acme.tryAcquire();
  for (const name of ['a1', 'a2', 'a3']) acquire(name, 'acme');
  for (const name of ['g1', 'g2']) acquire(name, 'globex');
  t.notOk(globex.tryAcquire());
  acme.release();
  acme.release();
  globex.release();
  acme.release();
  await turn();
  t.same(outcomes, ['g1 runs', 'a1 runs', 'g2 runs', 'a2 runs']);
  t.equal(all.inUse, 2);
});

t.test('a request that waits too long is refused and takes no permit', async (t) => {
  const { all, outcomes, acquire, clock } = setUp();
  const acme = all.of('acme');
  acme.tryAcquire();
  acquire('one', 'acme');
  clock.advance(TIMEOUT - 1);
  await turn();
  t.same(outcomes, []);
  clock.advance(1);
  acme.release();
  await turn();
  t.same(outcomes, ['one is too late']);
  t.equal(acme.inUse, 0);
  t.equal(all.queued, 0);
  t.equal(clock.pending, 0);
});

t.test('a queue is bounded by the sizes of its requests', async (t) => {
  const { all, outcomes, acquire } = setUp({ queuePerKey: 1_000 });
  all.of('acme').tryAcquire();
  const large = new AbortController();
  acquire('large', 'acme', { size: 990, signal: large.signal });
  acquire('one more', 'acme', { size: 11 });
  acquire('small', 'acme', { size: 10 });
  await turn();
  t.same(outcomes, ['one more is too many for acme']);
  large.abort();
  acquire('after it', 'acme', { size: 990 });
  await turn();
  t.same(outcomes.slice(1), ['large left']);
  t.equal(all.of('acme').queued, 1_000);
});

t.test(
  'if all queues together are full, the newest request of the largest is refused for a smaller one',
  async (t) => {
    const tenants = 16;
    const { all, outcomes, acquire } = setUp({ queue: 2 * tenants, queuePerKey: 2 });
    for (let tenant = 0; tenant < tenants; tenant += 1) {
      all.of(`t${tenant}`).tryAcquire();
      for (const name of ['first', 'second']) acquire(`${name} of ${tenant}`, `t${tenant}`);
    }
    all.of('late').tryAcquire();
    acquire('late', 'late');
    await turn();
    t.same(outcomes, ['second of 0 is too many for t0']);
    acquire('too', 'late');
    acquire('again', 't0');
    await turn();
    t.same(
      outcomes.slice(1),
      ['too is too many for late', 'again is too many for t0'],
      'the queues that these requests belong to would be the largest',
    );
    t.equal(all.queued, 2 * tenants);
  },
);

t.test('if there are very many tenants, only those without requests are evicted', async (t) => {
  const { all } = setUp();
  const acme = all.of('acme');
  acme.tryAcquire();
  for (let tenant = 0; tenant < 25_000; tenant += 1) {
    const semaphore = all.of(`t${tenant}`);
    semaphore.tryAcquire();
    semaphore.release();
  }
  t.ok(all.size <= 10_000, `${all.size} tenants are known`);
  t.equal(all.of('acme'), acme);
  t.notOk(acme.tryAcquire());
});
