/** Requests of the primary and responses of its workers. */
import { EventEmitter } from 'node:events';
import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { type ChannelEnd, requestFromWorker, servePrimary } from '../../../src/server/worker-channel.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

/** Two connected ends of a channel. */
function channel(): [ChannelEnd, ChannelEnd] {
  const [one, two] = [new EventEmitter(), new EventEmitter()];
  return [
    Object.assign(one, { send: (message: object) => two.emit('message', message) }),
    Object.assign(two, { send: (message: object) => one.emit('message', message) }),
  ];
}

t.test('each request gets its own response', async (t) => {
  const clock = createFakeClock();
  const [primary, worker] = channel();
  servePrimary(
    worker,
    {
      readiness: () => [{ name: 'upstream' }],
      metrics: async () => [{ name: 'up' }],
      usage: () => ({ process: 'p1' }),
    },
    silentLogger,
  );
  const responses = await Promise.all([
    requestFromWorker(primary, 'metrics', clock, 1_000),
    requestFromWorker(primary, 'readiness', clock, 1_000),
    requestFromWorker(primary, 'usage', clock, 1_000),
  ]);
  t.same(responses, [[{ name: 'up' }], [{ name: 'upstream' }], { process: 'p1' }]);
  t.equal(clock.pending, 0);
});

t.test('a worker that hangs counts as no response', async (t) => {
  const clock = createFakeClock();
  const [primary] = channel();
  const response = requestFromWorker(primary, 'readiness', clock, 1_000);
  clock.advance(1_000);
  t.equal(await response, undefined);
});

t.test('a worker that fails responds at once', async (t) => {
  const clock = createFakeClock();
  const [primary, worker] = channel();
  const metrics = () => Promise.reject(new Error('x'));
  servePrimary(worker, { readiness: () => [], metrics, usage: () => undefined }, silentLogger);
  t.equal(await requestFromWorker(primary, 'metrics', clock, 1_000), undefined);
});
