import t from 'tap';
import { createSignInLimit } from '../../../src/flowcontrol/sign-in-limit.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

function setUp() {
  const clock = createFakeClock();
  const limit = createSignInLimit({
    perSource: { perSecond: 1, burst: 3 },
    perUser: { perSecond: 0.1, burst: 2 },
    clock,
  });
  return { clock, limit };
}

t.test('one address that tries many users is slowed', async (t) => {
  const { limit } = setUp();
  for (const user of ['a', 'b', 'c']) t.equal(limit.admit('192.0.2.1', user), undefined);
  t.equal(limit.admit('192.0.2.1', 'd'), 'source');
  t.equal(limit.admit('192.0.2.2', 'd'), undefined);
});

t.test('many addresses that try one user are slowed', async (t) => {
  const { limit } = setUp();
  t.equal(limit.admit('192.0.2.1', 'a'), undefined);
  t.equal(limit.admit('192.0.2.2', 'a'), undefined);
  t.equal(limit.admit('192.0.2.3', 'a'), 'user');
  t.equal(limit.admit('192.0.2.3', 'b'), undefined);
});

t.test('where an issuer asks for the password, the source alone counts', async (t) => {
  const { limit } = setUp();
  for (let i = 0; i < 3; i += 1) t.equal(limit.admit('192.0.2.1', undefined), undefined);
  t.equal(limit.admit('192.0.2.1', undefined), 'source');
});

t.test('patience is rewarded', async (t) => {
  const { clock, limit } = setUp();
  for (let i = 0; i < 2; i += 1) limit.admit('192.0.2.1', 'a');
  t.equal(limit.admit('192.0.2.1', 'a'), 'user');
  clock.advance(10_000);
  t.equal(limit.admit('192.0.2.1', 'a'), undefined);
});

t.test('one IPv6 subnet is one source', async (t) => {
  const { limit } = setUp();
  for (const [index, user] of ['a', 'b', 'c'].entries()) limit.admit(`2001:db8::${index}`, user);
  t.equal(limit.admit('2001:db8::ffff', 'd'), 'source');
});
