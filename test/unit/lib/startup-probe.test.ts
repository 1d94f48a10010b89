import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createStartupProbe } from '../../../src/lib/startup-probe.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

/** A probe of a backend whose responses the test determines. */
function setUp() {
  const logged: string[] = [];
  const asked: PromiseWithResolvers<void>[] = [];
  const say = (_fields: object, message: string) => void logged.push(message);
  const clock = createFakeClock();
  const contact = createStartupProbe({
    name: 'keystone',
    contact() {
      const answer = Promise.withResolvers<void>();
      asked.push(answer);
      return answer.promise;
    },
    clock,
    logger: { ...silentLogger, info: say, warn: say },
  });
  return { contact, clock, logged, asked };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

t.test('a backend is probed until it has responded', async (t) => {
  const { contact, clock, logged, asked } = setUp();
  contact.start();
  asked[0]?.reject(new Error('away'));
  await settle();
  t.equal(contact.notReadyBecause(), 'away');
  clock.advance(1_000);
  asked[1]?.resolve();
  await settle();
  t.equal(contact.notReadyBecause(), undefined);
  t.equal(clock.pending, 0);
  t.same(logged, ['a backend is not reached yet', 'the backend was reached']);
});

t.test('a probe that is stopped logs nothing and is not repeated', async (t) => {
  const { contact, clock, logged, asked } = setUp();
  contact.start();
  contact.stop();
  asked[0]?.reject(new Error('the client is destroyed'));
  await settle();
  t.same(logged, []);
  t.equal(clock.pending, 0);
});
