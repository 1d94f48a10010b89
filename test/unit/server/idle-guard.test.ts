/** How long a kept connection may be without a request. */
import t from 'tap';
import { TimeoutQueue } from '../../../src/lib/timeout-queue.ts';
import { IdleGuard } from '../../../src/server/idle-guard.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const PATIENCE = 120_000;

function connection(queue: TimeoutQueue) {
  const state = { received: 100, closed: 0 };
  const guard = new IdleGuard(queue, {
    get received() {
      return state.received;
    },
    onIdle: () => {
      state.closed += 1;
    },
  });
  return { state, guard };
}

t.test('a kept connection', async (t) => {
  const clock = createFakeClock(0);
  const queue = new TimeoutQueue(clock, PATIENCE);
  const { state, guard } = connection(queue);

  t.test('is kept as long as its patience', async (t) => {
    guard.begin();
    clock.advance(PATIENCE - 1);
    t.equal(state.closed, 0);
  });

  t.test('begins anew with each request', async (t) => {
    guard.end();
    clock.advance(PATIENCE);
    guard.begin();
    clock.advance(PATIENCE - 1);
    t.equal(state.closed, 0);
  });

  t.test('is not idle where a head has begun to arrive', async (t) => {
    state.received += 1;
    clock.advance(1);
    t.equal(state.closed, 0, 'the head has its own limit');
  });

  t.test('is closed, once, where nothing more arrives', async (t) => {
    clock.advance(PATIENCE - 1);
    t.equal(state.closed, 0);
    clock.advance(PATIENCE);
    t.equal(state.closed, 1);
    clock.advance(10 * PATIENCE);
    t.equal(state.closed, 1);
  });

  t.test('leaves no timer behind when it ends', async (t) => {
    guard.begin();
    guard.stop();
    t.equal(clock.pending, 0);
    clock.advance(2 * PATIENCE);
    t.equal(state.closed, 1);
  });
});

t.test('a thousand connections, one after the other', async (t) => {
  const clock = createFakeClock(0);
  const queue = new TimeoutQueue(clock, PATIENCE);
  const connections = Array.from({ length: 1_000 }, () => connection(queue));
  for (const { guard } of connections) {
    guard.begin();
    clock.advance(100);
  }
  const begun = clock.now();
  let wakeUps = 0;
  while (clock.pending > 0) {
    clock.advance(clock.untilNext);
    wakeUps += 1;
  }
  t.ok(connections.every(({ state }) => state.closed === 1));
  t.ok(clock.now() - begun <= PATIENCE + PATIENCE / 8, 'none is kept much longer than its patience');
  t.ok(wakeUps <= 10, `the process is woken seldom: ${wakeUps} times`);
});
