import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { createRedisSubscription } from '../../../src/cache/redis-subscription.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

/** A connection that the test controls. */
class Connection extends EventEmitter {
  calls: string[] = [];
  refusal: Error | undefined;

  subscribe(channel: string) {
    return this.#answer(`subscribe ${channel}`);
  }
  ping() {
    return this.#answer('ping');
  }
  disconnect(reconnect = false) {
    this.calls.push(reconnect ? 'reconnect' : 'disconnect');
  }
  async #answer(call: string) {
    this.calls.push(call);
    if (this.refusal !== undefined) throw this.refusal;
  }
}

function setUp() {
  const clock = createFakeClock();
  const connection = new Connection();
  const problems: string[] = [];
  const messages: string[] = [];
  let gaps = 0;
  const subscription = createRedisSubscription({
    connection,
    channel: 'drops',
    clock,
    onProblem: (problem) => problems.push(problem),
  });
  subscription.listen({
    onMessage: (message) => messages.push(message),
    onGap() {
      gaps += 1;
    },
  });
  const ready = async () => {
    connection.emit('ready');
    await turn();
  };
  return { clock, connection, messages, problems, subscription, ready, gaps: () => gaps };
}

t.test(
  'it subscribes on every connection; each disconnect and each reconnect is reported as a gap',
  async (t) => {
    const { connection, ready, gaps } = setUp();
    await ready();
    t.equal(gaps(), 1);
    connection.emit('close');
    t.equal(gaps(), 2);
    await ready();
    t.equal(gaps(), 3);
    t.same(connection.calls, ['subscribe drops', 'subscribe drops']);
  },
);

t.test('a connection that broke silently is detected by a ping', async (t) => {
  const { clock, connection, problems, ready } = setUp();
  await ready();
  clock.advance(10_000);
  await turn();
  clock.advance(10_000);
  connection.refusal = new Error('Socket timeout');
  await turn();
  clock.advance(10_000);
  await turn();
  t.same(connection.calls.slice(1), ['ping', 'ping', 'ping', 'reconnect']);
  t.same(problems, ['Socket timeout']);
});

t.test('a refused subscription is retried and reported once', async (t) => {
  const { connection, problems, ready } = setUp();
  connection.refusal = new Error('NOPERM');
  await ready();
  await ready();
  connection.emit('error', new Error('NOPERM'));
  t.same(problems, ['NOPERM']);
  t.same(connection.calls, ['subscribe drops', 'reconnect', 'subscribe drops', 'reconnect']);
});
