import t from 'tap';
import { createLimitsInUse } from '../../../../src/features/quota/limits-in-use.ts';
import { keystoneUnavailable } from '../../../../src/identity/keystone/keystone-http.ts';
import type { KeystoneLimits } from '../../../../src/identity/keystone/keystone-limits.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

const MINUTE = 60_000;

function limits(pods: number): KeystoneLimits {
  return {
    model: 'flat',
    registered: new Map([['pods', pods]]),
    ofDomains: new Map(),
    ofProjects: new Map(),
  };
}

/** A Keystone that has these limits, or is away. */
function setUp(keystone: { limits?: KeystoneLimits }) {
  const clock = createFakeClock();
  const ages = new Set<() => number>();
  const inUse = createLimitsInUse({
    clock,
    logger: silentLogger,
    telemetry: {
      keystoneLimitsInUse(age) {
        ages.add(age);
        return () => ages.delete(age);
      },
    },
    async read() {
      if (keystone.limits === undefined) throw keystoneUnavailable(new Error('no answer'));
      return keystone.limits;
    },
  });
  return { inUse, clock, ages: () => [...ages].map((age) => age()) };
}

t.test(
  'D232 while Keystone is away, the limits that were last read stay in use, and their age grows',
  async (t) => {
    const keystone: { limits?: KeystoneLimits } = { limits: limits(10) };
    const { inUse, clock, ages } = setUp(keystone);
    t.same(await inUse.get(), limits(10));
    delete keystone.limits;
    for (let minute = 1; minute <= 60; minute += 1) {
      clock.advance(MINUTE);
      t.same(await inUse.get(), limits(10));
    }
    t.same(ages(), [3_600]);

    keystone.limits = limits(20);
    clock.advance(MINUTE);
    t.same(await inUse.get(), limits(20));
    t.same(ages(), [0]);
    inUse.close();
    t.same(ages(), []);
  },
);

t.test('D232 no limits are known while Keystone is away from the first start on', async (t) => {
  const keystone: { limits?: KeystoneLimits } = {};
  const { inUse, clock, ages } = setUp(keystone);
  await t.rejects(inUse.get(), { code: 'KeystoneUnavailable' });
  clock.advance(MINUTE);
  await t.rejects(inUse.get(), { code: 'KeystoneUnavailable' });
  t.same(ages(), [60]);
  keystone.limits = limits(10);
  t.same(await inUse.get(), limits(10), 'read as soon as it is there');
});

t.test('many projects that are provisioned at once make one request for the limits', async (t) => {
  let readings = 0;
  const inUse = createLimitsInUse({
    clock: createFakeClock(),
    logger: silentLogger,
    telemetry: { keystoneLimitsInUse: () => () => {} },
    async read() {
      readings += 1;
      return limits(readings);
    },
  });
  await Promise.all(Array.from({ length: 50 }, () => inUse.get()));
  await inUse.get();
  t.equal(readings, 1);
});
