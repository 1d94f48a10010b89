import t from 'tap';
import { COSTS, createRatesSite, EXEC, GET, LIST, WATCH, WRITE } from '../../../support/rates/processes.ts';
import { recordedTelemetry } from '../../../support/recorded-telemetry.ts';

const PER_TENANT = { perTenant: { perSecond: 1, burst: 10 } };
const CHEAP = { ...COSTS, connect: 5 };

/** Sends this many requests at once. @returns how many are admitted */
async function admitted(times: number, ask: (at: number) => Promise<Error | undefined>): Promise<number> {
  const asked = await Promise.all(Array.from({ length: times }, (_, at) => ask(at)));
  return asked.filter((error) => error === undefined).length;
}

for (const redis of [false, true]) {
  const site = (options: Omit<Parameters<typeof createRatesSite>[0], 'redis'>) =>
    createRatesSite({ ...options, redis });

  t.test(redis ? 'with Redis' : 'without Redis', async (t) => {
    t.test('D501 a burst of exactly the limit passes, and not one request more', async (t) => {
      const { ask } = site({ rates: PER_TENANT });
      t.equal(await admitted(12, () => ask()), 10);
    });

    t.test('D505 a refused request costs nothing', async (t) => {
      const { ask, clock } = site({ rates: PER_TENANT });
      await ask(EXEC);
      for (let i = 0; i < 100; i += 1) t.equal((await ask(LIST))?.code, 'TenantRateExceeded');
      clock.advance(5_000);
      t.equal(await ask(LIST), undefined);
    });

    t.test(
      'D506 a client that waits as long as the refusal says is admitted, and not a millisecond earlier',
      async (t) => {
        const { ask, clock } = site({ rates: PER_TENANT });
        await ask(EXEC);
        const refusal = await ask(LIST);
        t.same(refusal?.details, { retryAfterSeconds: 5 });
        clock.advance(4_999);
        t.ok(await ask(LIST));
        clock.advance(1);
        t.equal(await ask(LIST), undefined);
      },
    );

    t.test('a wait is rounded up to whole seconds', async (t) => {
      const { ask } = site({ rates: { perTenant: { perSecond: 3, burst: 10 } } });
      await ask(EXEC);
      t.same((await ask())?.details, { retryAfterSeconds: 1 });
      t.same((await ask(LIST))?.details, { retryAfterSeconds: 2 });
    });

    t.test('D507 if the tenant has used up its rate, the user is not charged', async (t) => {
      const rates = { perTenant: { perSecond: 1, burst: 10 }, perUser: { perSecond: 0.001, burst: 10 } };
      const { ask, clock } = site({ rates });
      await ask(EXEC, { user: 'bob' });
      for (let i = 0; i < 5; i += 1) {
        const refusal = await ask(LIST);
        t.equal(refusal?.code, 'TenantRateExceeded');
        t.match(refusal?.message, 'the tenant "acme" is over its rate of 1 a second (limits.perTenant)');
      }
      clock.advance(10_000);
      t.equal(await ask(EXEC), undefined);
    });

    t.test('a user who has used up their rate is refused by name, at no cost for others', async (t) => {
      const rates = { perTenant: { perSecond: 0.001, burst: 20 }, perUser: { perSecond: 1, burst: 10 } };
      const { ask } = site({ rates });
      await ask(EXEC);
      const refusal = await ask(WRITE);
      t.equal(refusal?.code, 'UserRateExceeded');
      t.equal(
        refusal?.message,
        'Too many requests, please try again later: the user "alice" is over its rate of 1 a second (limits.perUser); there is room again in 2 s',
      );
      t.equal(await ask(EXEC, { user: 'bob' }), undefined);
    });

    t.test('a tenant with its own rate has that rate instead of the general one', async (t) => {
      const rates = { ...PER_TENANT, tenants: { globex: { perSecond: 1, burst: 20 } } };
      const { ask } = site({ rates });
      t.equal(await admitted(30, () => ask(GET, { tenant: 'globex' })), 20);
      t.match((await ask(GET, { tenant: 'globex' }))?.message, '(limits.tenants.globex)');
      t.equal(await admitted(30, () => ask()), 10);
    });

    t.test('a tenant without any rate is not limited', async (t) => {
      const { ask } = site({ rates: { tenants: { globex: { perSecond: 1, burst: 10 } } } });
      t.equal(await admitted(100, () => ask()), 100);
    });

    t.test(
      'D525 in shadow mode nothing is refused, and the refusals that would be are counted',
      async (t) => {
        const counted: string[] = [];
        const telemetry = recordedTelemetry(counted);
        const { ask } = site({ rates: { ...PER_TENANT, shadow: true }, more: { telemetry } });
        t.equal(await admitted(12, () => ask()), 12);
        t.same(counted, ['tenant shadow', 'tenant shadow']);
      },
    );

    t.test('D527 a lowered limit takes effect at once', async (t) => {
      const { ask, create } = site({ rates: { perTenant: { perSecond: 100, burst: 100 } } });
      t.equal(await admitted(100, () => ask()), 100);
      const by = create({ perTenant: { perSecond: 1, burst: 10 } });
      t.equal(await admitted(100, () => ask(GET, { by })), redis ? 9 : 10);
      t.same((await ask(GET, { by }))?.details, { retryAfterSeconds: 1 });
    });
  });
}

t.test('a user who acts as many users has one rate', async (t) => {
  const { ask } = createRatesSite({ rates: { perUser: { perSecond: 1, burst: 10 } } });
  t.equal(await admitted(12, (at) => ask(GET, { as: `user ${at}` })), 10);
  t.match(await ask(GET, { as: 'bob' }), { message: /the user "alice"/ });
  t.equal(await ask(GET, { user: 'bob' }), undefined);
});

t.test(
  'D518 a watch that waits as long as the refusals say is admitted once other requests leave tokens',
  async (t) => {
    const { ask, clock } = createRatesSite({ rates: PER_TENANT });
    await ask(EXEC);
    let refusal = await ask(WATCH);
    for (let second = 0; refusal !== undefined && second < 100; second += 1) {
      clock.advance((refusal.details?.retryAfterSeconds ?? 0) * 1_000);
      // The other requests take all tokens at first, then half.
      if (second < 5 || second % 2 === 0) await ask(LIST);
      refusal = await ask(WATCH);
    }
    t.equal(refusal, undefined);
  },
);

t.test('the most expensive request fits into the smallest share', async (t) => {
  const { ask } = createRatesSite({ rates: { ...PER_TENANT, processes: 100 } });
  t.equal(await ask(EXEC), undefined);
});

t.test('a busy user costs Redis at most ten commands in a second, and gets the whole rate', async (t) => {
  const rates = { perUser: { perSecond: 1_000, burst: 2_000 } };
  const { ask, clock, accounts } = createRatesSite({ rates, redis: true });
  let passed = 0;
  for (let second = 0; second < 5; second += 1) {
    const before = accounts.commands;
    const asked: Promise<unknown>[] = [];
    for (let at = 0; at < 1_000; at += 1) {
      asked.push(ask().then((error) => (passed += error === undefined ? 1 : 0)));
      await Promise.resolve();
      clock.advance(1);
    }
    t.ok(accounts.commands - before <= 10, `${accounts.commands - before} commands`);
  }
  clock.advance(1_000);
  await new Promise(setImmediate);
  t.equal(passed, 5_000);
});

t.test('a client that continues although it is refused costs Redis nothing', async (t) => {
  const { ask, accounts } = createRatesSite({ rates: PER_TENANT, redis: true });
  await ask(EXEC);
  await ask();
  const before = accounts.commands;
  for (let i = 0; i < 1_000; i += 1) await ask();
  t.equal(accounts.commands, before);
});

t.test('an occasional request takes no more from Redis than it costs', async (t) => {
  const rates = { perTenant: { perSecond: 0.001, burst: 10 }, costs: CHEAP };
  const { ask, clock } = createRatesSite({ rates, redis: true });
  for (let i = 0; i < 10; i += 1) {
    t.equal(await ask(), undefined);
    clock.advance(1_000);
  }
  t.ok(await ask());
});

t.test(
  'requests that a process admitted with Redis are deducted from its share when Redis is lost',
  async (t) => {
    const { ask, accounts, clock } = createRatesSite({
      rates: { perTenant: { perSecond: 1, burst: 20 } },
      redis: true,
    });
    t.equal(await admitted(20, () => ask()), 20);
    accounts.state = 'away';
    clock.advance(1_000);
    t.equal(await admitted(20, () => ask()), 1);
  },
);

t.test('requests that a process admitted without Redis long ago are not charged', async (t) => {
  const { ask, accounts, clock } = createRatesSite({
    rates: { perTenant: { perSecond: 1, burst: 20 } },
    redis: true,
  });
  accounts.state = 'away';
  for (let i = 0; i < 100; i += 1) {
    t.equal(await ask(), undefined);
    clock.advance(1_000);
  }
  // Until Redis has answered, the process spends its share, and does not ask again.
  await new Promise(setImmediate);
  accounts.state = 'back';
  await ask();
  await new Promise(setImmediate);
  t.equal(await admitted(30, () => ask()), 19);
});

t.test(
  'when Redis is back, a process charges the requests that it admitted without it, not those it refused',
  async (t) => {
    const { ask, accounts, clock } = createRatesSite({
      rates: { perTenant: { perSecond: 1, burst: 20 } },
      redis: true,
    });
    accounts.state = 'away';
    t.equal(await admitted(30, () => ask()), 20);
    accounts.state = 'back';
    clock.advance(2_000);
    t.equal(await admitted(20, () => ask()), 2, 'the first of them asks Redis again');
    t.ok(await ask());
  },
);
