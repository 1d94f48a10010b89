import t from 'tap';
import { createTenantLimit } from '../../../src/flowcontrol/tenant-limit.ts';
import { createTokenBuckets } from '../../../src/flowcontrol/token-buckets.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

t.test('a tenant over its rate is refused with 429, and no other', (t) => {
  const clock = createFakeClock();
  const limit = createTenantLimit({ perSecond: 2, burst: 3, clock });
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

t.test('a long silence saves up no more than the burst', (t) => {
  const clock = createFakeClock();
  const buckets = createTokenBuckets({ perSecond: 1, burst: 2, maxKeys: 10, clock });
  buckets.take('a');
  clock.advance(3_600_000);
  t.same([buckets.take('a'), buckets.take('a'), buckets.take('a')], [true, true, false]);
  t.end();
});

t.test('a clock set back takes nothing away', (t) => {
  const clock = createFakeClock();
  const buckets = createTokenBuckets({ perSecond: 1, burst: 2, maxKeys: 10, clock });
  buckets.take('a');
  clock.advance(-60_000);
  t.equal(buckets.take('a'), true);
  clock.advance(1_000);
  t.equal(buckets.take('a'), true);
  t.end();
});

t.test('so many keys are remembered and no more', (t) => {
  const buckets = createTokenBuckets({ perSecond: 1, burst: 1, maxKeys: 10, clock: createFakeClock() });
  for (let i = 0; i < 1000; i += 1) buckets.take(`source ${i}`);
  t.equal(buckets.size, 10);
  t.end();
});
