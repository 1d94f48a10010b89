/**
 * One tenant's requests never keep another's from the API server: each has its own slots and its own bounded
 * queue.
 */
import t from 'tap';
import { KeyedSemaphore } from '../../../src/lib/keyed-semaphore.ts';
import type { SemaphoreOptions } from '../../../src/lib/semaphore.ts';
import type { Waiter } from '../../../src/lib/waiter.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const TIMEOUT = 20_000;
/** All queues together hold so many times as much as one. */
const QUEUES = 16;

function setUp(options: Partial<SemaphoreOptions> = {}) {
  const clock = createFakeClock();
  const told: string[] = [];
  const waiter = (name: string): Waiter => ({
    onAcquired: () => told.push(`${name} runs`),
    onRefused: ({ message }) => told.push(`${name} ${message}`),
  });
  const { requests, bytes } = options.queuePerKey ?? { requests: 10, bytes: 1_000 };
  const all = new KeyedSemaphore({
    clock,
    permits: Number.POSITIVE_INFINITY,
    permitsPerKey: 1,
    queue: { requests: QUEUES * requests, bytes: QUEUES * bytes },
    queuePerKey: { requests, bytes },
    queueTimeout: TIMEOUT,
    delayedRelease: { burst: 2, perSecond: 10 },
    refusal: (reason, key) => new Error(reason === 'full' ? `is too many for ${key}` : 'is too late'),
    ...options,
  });
  return { clock, told, waiter, all };
}

t.test('a tenant whose slots are all in use waits in its own queue, and no other tenant does', async (t) => {
  const { all, told, waiter, clock } = setUp();
  const acme = all.of('acme');
  t.ok(acme.tryAcquire());
  t.notOk(acme.tryAcquire());
  acme.enqueue(waiter('one'), 1);
  acme.enqueue(waiter('two'), 1);
  t.ok(all.of('globex').tryAcquire());
  acme.release();
  t.same(told, ['one runs']);
  t.notOk(acme.tryAcquire(), 'requests in the queue come first');
  acme.release();
  acme.release();
  t.same(told, ['one runs', 'two runs']);
  t.equal(acme.inUse, 0);
  t.equal(clock.pending, 0);
});

t.test('if all slots are in use, tenants are served in turn', async (t) => {
  const { all, told, waiter } = setUp({ permits: 2, permitsPerKey: 2 });
  const [acme, globex] = [all.of('acme'), all.of('globex')];
  acme.tryAcquire();
  acme.tryAcquire();
  for (const name of ['a1', 'a2', 'a3']) acme.enqueue(waiter(name), 1);
  for (const name of ['g1', 'g2']) globex.enqueue(waiter(name), 1);
  t.notOk(globex.tryAcquire());
  acme.release();
  acme.release();
  globex.release();
  acme.release();
  t.same(told, ['g1 runs', 'a1 runs', 'g2 runs', 'a2 runs']);
  t.equal(all.inUse, 2);
});

t.test('a request that waits too long is refused, and takes no slot later', async (t) => {
  const { all, told, waiter, clock } = setUp();
  const acme = all.of('acme');
  acme.tryAcquire();
  acme.enqueue(waiter('one'), 1);
  clock.advance(TIMEOUT - 1);
  t.same(told, []);
  clock.advance(1);
  t.same(told, ['one is too late']);
  acme.release();
  t.same(told, ['one is too late']);
  t.equal(acme.inUse, 0);
  t.same(all.queued, { requests: 0, bytes: 0 });
  t.equal(clock.pending, 0);
});

t.test('a request that is cancelled while it waits is told nothing, and holds no other up', async (t) => {
  const { all, told, waiter, clock } = setUp();
  const acme = all.of('acme');
  acme.tryAcquire();
  const one = acme.enqueue(waiter('one'), 1);
  one?.cancel();
  one?.cancel();
  acme.enqueue(waiter('two'), 1);
  acme.release();
  t.same(told, ['two runs']);
  clock.advance(TIMEOUT);
  t.same(told, ['two runs']);
  t.same(all.queued, { requests: 0, bytes: 0 });
});

t.test('a queue holds so many requests and so many bytes', async (t) => {
  const { all, waiter } = setUp({ queuePerKey: { requests: 3, bytes: 1_000 } });
  const [acme, globex] = [all.of('acme'), all.of('globex')];
  acme.tryAcquire();
  globex.tryAcquire();
  for (const name of ['one', 'two', 'three']) t.ok(acme.enqueue(waiter(name), 1));
  t.equal(acme.enqueue(waiter('four'), 1), undefined);
  t.match(acme.queueFull(), { message: 'is too many for acme' });
  const large = globex.enqueue(waiter('large'), 990);
  t.equal(globex.enqueue(waiter('one more'), 11), undefined);
  t.ok(globex.enqueue(waiter('small'), 10));
  large?.cancel();
  t.ok(globex.enqueue(waiter('after it'), 990));
});

t.test('if all queues together are full, the newest of the largest gives way to a smaller one', async (t) => {
  for (const [requests, bytes] of [
    [2, 1_000],
    [1_000, 2],
  ] as const) {
    const { all, told, waiter } = setUp({ queuePerKey: { requests, bytes } });
    for (let tenant = 0; tenant < QUEUES; tenant += 1) {
      const limiter = all.of(`t${tenant}`);
      limiter.tryAcquire();
      for (const name of ['first', 'second']) t.ok(limiter.enqueue(waiter(`${name} of ${tenant}`), 1));
    }
    const late = all.of('late');
    late.tryAcquire();
    t.ok(late.enqueue(waiter('late'), 1));
    t.same(told, ['second of 0 is too many for t0']);
    t.equal(late.enqueue(waiter('too'), 1), undefined, 'it would be one of the largest');
    t.equal(all.of('t0').enqueue(waiter('again'), 1), undefined);
    t.same(told, ['second of 0 is too many for t0']);
    t.equal(all.queued.requests, 2 * QUEUES);
  }
});

t.test('a slot whose connection was closed comes back at once a few times, and then slowly', async (t) => {
  const { all, told, waiter, clock } = setUp({ permits: 3, permitsPerKey: 3 });
  const [acme, globex] = [all.of('acme'), all.of('globex')];
  for (let round = 0; round < 2; round += 1) {
    t.ok(acme.tryAcquire());
    acme.releaseDelayed();
  }
  t.equal(acme.inUse, 0);
  for (let round = 0; round < 3; round += 1) {
    t.ok(acme.tryAcquire());
    acme.releaseDelayed();
  }
  t.equal(acme.inUse, 3);
  t.equal(all.inUse, 0, 'other tenants have the place of a connection that is no more');
  t.notOk(acme.tryAcquire());
  acme.enqueue(waiter('one'), 1);
  t.ok(globex.tryAcquire());
  clock.advance(99);
  t.same(told, []);
  clock.advance(1);
  t.same(told, ['one runs']);
  clock.advance(100);
  clock.advance(100);
  t.equal(acme.inUse, 1);
  acme.release();
  t.equal(clock.pending, 0);
});

t.test('what was closed long ago counts no more', async (t) => {
  const { all, clock } = setUp();
  const acme = all.of('acme');
  for (let round = 0; round < 10; round += 1) {
    t.ok(acme.tryAcquire());
    acme.releaseDelayed();
    t.equal(acme.inUse, 0);
    clock.advance(100);
  }
});

t.test('a queue of which every request fails at once comes to its end, however long it is', async (t) => {
  const { all } = setUp({ queuePerKey: { requests: 50_000, bytes: 50_000 } });
  const acme = all.of('acme');
  acme.tryAcquire();
  let acquired = 0;
  for (let waiting = 0; waiting < 50_000; waiting += 1)
    acme.enqueue(
      {
        onAcquired() {
          acquired += 1;
          acme.release();
        },
        onRefused: () => t.fail('was refused'),
      },
      1,
    );
  acme.release();
  t.equal(acquired, 50_000);
  t.equal(acme.inUse, 0);
});

t.test('tenants without any request are forgotten if there are very many, and no others', async (t) => {
  const { all, clock } = setUp();
  const [acme, busy] = [all.of('acme'), all.of('busy')];
  acme.tryAcquire();
  busy.tryAcquire();
  busy.releaseDelayed();
  for (let tenant = 0; tenant < 25_000; tenant += 1) all.of(`t${tenant}`);
  t.ok(all.size <= 10_000, `${all.size} tenants are known`);
  t.equal(all.of('acme'), acme);
  t.notOk(all.of('acme').tryAcquire());
  t.equal(all.of('busy'), busy, 'its closed connection is not forgotten');
  clock.advance(100);
  for (let tenant = 0; tenant < 25_000; tenant += 1) all.of(`u${tenant}`);
  t.not(all.of('busy'), busy);
});

t.test('a part of a key has at most its share, out of the permits of the key', async (t) => {
  const { all } = setUp({ permitsPerKey: 4 });
  const acme = all.of('acme');
  const guests = all.of('acme').part(2);
  t.ok(guests.tryAcquire());
  t.ok(guests.tryAcquire());
  t.notOk(guests.tryAcquire(), 'its share is in use');
  t.ok(acme.tryAcquire());
  t.ok(acme.tryAcquire());
  t.notOk(acme.tryAcquire(), 'what the part uses is not there twice');
  t.equal(acme.inUse, 4);
});

t.test('a waiter of a part is served once both the part and the key have a permit', async (t) => {
  const { all, told, waiter } = setUp({ permitsPerKey: 2 });
  const acme = all.of('acme');
  const guests = acme.part(1);
  acme.tryAcquire();
  acme.tryAcquire();
  guests.enqueue(waiter('guest'), 1);
  guests.enqueue(waiter('second guest'), 1);
  acme.enqueue(waiter('local'), 1);
  t.same(told, []);
  acme.release();
  acme.release();
  t.same([...told].sort(), ['guest runs', 'local runs'], 'the second guest is beyond the share');
  guests.release();
  t.ok(told.includes('second guest runs'));
  guests.release();
  acme.release();
  t.equal(acme.inUse, 0);
  t.ok(acme.unused);
});

t.test('a permit of a part that is released late serves the key then', async (t) => {
  const { all, told, waiter, clock } = setUp({ delayedRelease: { burst: 1, perSecond: 10 } });
  const acme = all.of('acme');
  const guests = acme.part(1);
  guests.tryAcquire();
  guests.releaseDelayed();
  guests.tryAcquire();
  guests.releaseDelayed();
  acme.enqueue(waiter('local'), 1);
  t.same(told, []);
  clock.advance(100);
  t.same(told, ['local runs']);
});
