import t from 'tap';
import {
  createSignInRateLimit,
  createTenantRateLimit,
  createTokenBuckets,
} from '../../../src/flowcontrol/rate-limits.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

t.test('a tenant over its rate is refused with 429, and no other', (t) => {
  const clock = createFakeClock();
  const limit = createTenantRateLimit({ perSecond: 2, burst: 3, clock });
  for (let i = 0; i < 3; i += 1) limit.admit('acme');
  t.throws(() => limit.admit('acme'), {
    code: 'TenantRateExceeded',
    message: 'Too many requests, please try again later: the tenant "acme" is over its rate',
  });
  t.doesNotThrow(() => limit.admit('globex'));
  clock.advance(500);
  t.doesNotThrow(() => limit.admit('acme'));
  t.throws(() => limit.admit('acme'), { code: 'TenantRateExceeded' });
  t.end();
});

t.test('a long pause adds no more tokens than the burst', (t) => {
  const clock = createFakeClock();
  const buckets = createTokenBuckets({ perSecond: 1, burst: 2, maxKeys: 10, clock });
  buckets.take('a');
  clock.advance(3_600_000);
  t.same([buckets.take('a'), buckets.take('a'), buckets.take('a')], [true, true, false]);
  t.end();
});

t.test('a clock that is set back takes no tokens', (t) => {
  const clock = createFakeClock();
  const buckets = createTokenBuckets({ perSecond: 1, burst: 2, maxKeys: 10, clock });
  buckets.take('a');
  clock.advance(-60_000);
  t.equal(buckets.take('a'), true);
  clock.advance(1_000);
  t.equal(buckets.take('a'), true);
  t.end();
});

t.test('the number of known keys is bounded', (t) => {
  const buckets = createTokenBuckets({ perSecond: 1, burst: 1, maxKeys: 10, clock: createFakeClock() });
  for (let i = 0; i < 1000; i += 1) buckets.take(`source ${i}`);
  t.equal(buckets.size, 10);
  t.end();
});

function signInLimit() {
  const clock = createFakeClock();
  const limit = createSignInRateLimit({
    perSource: { perSecond: 1, burst: 3 },
    perUser: { perSecond: 0.1, burst: 2 },
    clock,
  });
  return { clock, limit };
}

t.test('one address that tries many users is slowed', async (t) => {
  const { limit } = signInLimit();
  for (const user of ['a', 'b', 'c']) t.equal(limit.admit('192.0.2.1', user), undefined);
  t.equal(limit.admit('192.0.2.1', 'd'), 'source');
  t.equal(limit.admit('192.0.2.2', 'd'), undefined);
});

t.test('many addresses that try one user are slowed', async (t) => {
  const { limit } = signInLimit();
  t.equal(limit.admit('192.0.2.1', 'a'), undefined);
  t.equal(limit.admit('192.0.2.2', 'a'), undefined);
  t.equal(limit.admit('192.0.2.3', 'a'), 'user');
  t.equal(limit.admit('192.0.2.3', 'b'), undefined);
});

t.test('if an issuer asks for the password, the source alone counts', async (t) => {
  const { limit } = signInLimit();
  for (let i = 0; i < 3; i += 1) t.equal(limit.admit('192.0.2.1', undefined), undefined);
  t.equal(limit.admit('192.0.2.1', undefined), 'source');
});

t.test('after a pause the user may try again', async (t) => {
  const { clock, limit } = signInLimit();
  for (let i = 0; i < 2; i += 1) limit.admit('192.0.2.1', 'a');
  t.equal(limit.admit('192.0.2.1', 'a'), 'user');
  clock.advance(10_000);
  t.equal(limit.admit('192.0.2.1', 'a'), undefined);
});

t.test('one IPv6 subnet is one source', async (t) => {
  const { limit } = signInLimit();
  for (const [index, user] of ['a', 'b', 'c'].entries()) limit.admit(`2001:db8::${index}`, user);
  t.equal(limit.admit('2001:db8::ffff', 'd'), 'source');
});
