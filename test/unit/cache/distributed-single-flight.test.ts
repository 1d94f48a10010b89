import t from 'tap';
import { distributedSingleFlight } from '../../../src/cache/distributed-single-flight.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

t.test('a look that fails gives the turn back, so that no replica waits for nothing', async (t) => {
  const given: string[] = [];
  const asked = distributedSingleFlight({
    clock: createFakeClock(),
    acquireLease: async () => ({ release: () => void given.push('back') }),
    find: async () => {
      throw new Error('garbage');
    },
    load: async () => 'an answer',
  });
  await t.rejects(asked, { message: 'garbage' });
  t.same(given, ['back']);
});

t.test(
  'a replica that finds the result after it took the lock releases it and asks no backend',
  async (t) => {
    const given: string[] = [];
    const found = await distributedSingleFlight({
      clock: createFakeClock(),
      acquireLease: async () => ({ release: () => void given.push('back') }),
      find: async () => 'there by now',
      load: async () => 'asked',
    });
    t.equal(found, 'there by now');
    t.same(given, ['back']);
  },
);
