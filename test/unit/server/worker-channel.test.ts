/** Questions of the primary and answers of its workers. */
import { EventEmitter } from 'node:events';
import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { answerPrimary, ask, type ChannelEnd, isReadinessList } from '../../../src/server/worker-channel.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

/** Two ends of a channel; what one sends, the other hears. */
function channel(): [ChannelEnd, ChannelEnd] {
  const [one, two] = [new EventEmitter(), new EventEmitter()];
  return [
    Object.assign(one, { send: (message: object) => two.emit('message', message) }),
    Object.assign(two, { send: (message: object) => one.emit('message', message) }),
  ];
}

t.test('each question gets its own answer', async (t) => {
  const clock = createFakeClock();
  const [primary, worker] = channel();
  answerPrimary(
    worker,
    { readiness: () => [{ name: 'upstream' }], metrics: async () => [{ name: 'up' }] },
    silentLogger,
  );
  const answers = await Promise.all([
    ask(primary, 'metrics', clock, 1_000),
    ask(primary, 'readiness', clock, 1_000),
  ]);
  t.same(answers, [[{ name: 'up' }], [{ name: 'upstream' }]]);
  t.equal(clock.pending, 0);
});

t.test('a worker that is stuck counts as no answer', async (t) => {
  const clock = createFakeClock();
  const [primary] = channel();
  const answer = ask(primary, 'readiness', clock, 1_000);
  clock.advance(1_000);
  t.equal(await answer, undefined);
});

t.test('a worker that cannot answer says so at once', async (t) => {
  const clock = createFakeClock();
  const [primary, worker] = channel();
  answerPrimary(worker, { readiness: () => [], metrics: () => Promise.reject(new Error('x')) }, silentLogger);
  t.equal(await ask(primary, 'metrics', clock, 1_000), undefined);
});

t.test('what is no question is ignored', async (t) => {
  const [primary, worker] = channel();
  let heard = 0;
  primary.on('message', () => {
    heard += 1;
  });
  answerPrimary(worker, { readiness: () => [], metrics: async () => [] }, silentLogger);
  for (const message of [undefined, null, 'x', {}, { stonegateQuestion: 'x' }])
    primary.send?.(Object(message));
  t.equal(heard, 0);
});

t.test('only a list of named parts is readiness', async (t) => {
  t.equal(isReadinessList([{ name: 'a' }, { name: 'b', reason: 'c' }]), true);
  for (const value of [undefined, 'x', {}, [null], [{ reason: 'x' }]]) t.equal(isReadinessList(value), false);
});
