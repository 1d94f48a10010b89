import t from 'tap';
import { createSignInRateLimit } from '../../../src/limits/sign-in-rate-limit.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

function signInLimit() {
  const clock = createFakeClock();
  const limit = createSignInRateLimit({
    perSource: { perSecond: 1, burst: 3 },
    perUser: { perSecond: 0.1, burst: 2 },
    clock,
  });
  return { clock, limit };
}

t.test('an address that tries many users is limited', async (t) => {
  const { limit } = signInLimit();
  for (const user of ['a', 'b', 'c']) t.equal(limit.admit('192.0.2.1', user), undefined);
  t.equal(limit.admit('192.0.2.1', 'd'), 'source');
  t.equal(limit.admit('192.0.2.2', 'd'), undefined);
});

t.test('D514 a user that many addresses try to sign in as is limited', async (t) => {
  const { limit } = signInLimit();
  t.equal(limit.admit('192.0.2.1', 'a'), undefined);
  t.equal(limit.admit('192.0.2.2', 'a'), undefined);
  t.equal(limit.admit('192.0.2.3', 'a'), 'user');
  t.equal(limit.admit('192.0.2.3', 'b'), undefined);
});

t.test('without a user name only the address is limited', async (t) => {
  const { limit } = signInLimit();
  for (let i = 0; i < 3; i += 1) t.equal(limit.admit('192.0.2.1', undefined), undefined);
  t.equal(limit.admit('192.0.2.1', undefined), 'source');
});
