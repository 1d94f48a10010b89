import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import {
  createUnknownCredentialGate,
  type UnknownCredentialGateOptions,
} from '../../../src/limits/unknown-credential-gate.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { recordedTelemetry } from '../../support/recorded-telemetry.ts';

/** Two validations run at a time and two more wait; the rate of a source is high. */
function setUp(options: Partial<UnknownCredentialGateOptions> = {}) {
  const clock = createFakeClock();
  const limited: string[] = [];
  const gate = createUnknownCredentialGate({
    perSource: { perSecond: 10, burst: 100 },
    concurrent: 2,
    queue: 2,
    queueTimeout: 1_000,
    clock,
    telemetry: recordedTelemetry(limited),
    ...options,
  });
  const running: (() => void)[] = [];
  /** Enters the gate with work that runs until `finish`. Resolves to the outcome. */
  const enter = (source: string) =>
    gate
      .enter(source, () => {
        const { promise, resolve } = Promise.withResolvers<string>();
        running.push(() => resolve(source));
        return promise;
      })
      .catch((error: unknown) => (error instanceof Error ? error.message : 'thrown'));
  const finish = async () => {
    running.shift()?.();
    await turn();
  };
  return { clock, gate, limited, enter, finish, running };
}

const REFUSED = /^Too many requests, please try again later: /;

t.test('a source over its rate is refused with 429', async (t) => {
  const { gate, clock, limited } = setUp({ perSource: { perSecond: 1, burst: 2 } });
  const ask = () => gate.enter('192.0.2.1', async () => 'done');
  await ask();
  await ask();
  await t.rejects(ask(), { code: 'CredentialRateExceeded', message: /from your address/ });
  t.same(limited, ['source']);
  t.equal(await gate.enter('192.0.2.2', async () => 'done'), 'done', 'other sources are not limited');
  clock.advance(1_000);
  t.equal(await ask(), 'done');
});

t.test('C244 the number of concurrent validations is bounded', async (t) => {
  const { enter, running, limited, finish } = setUp();
  const all = Promise.all(Array.from({ length: 50 }, (_, i) => enter(`192.0.2.${i}`)));
  await turn();
  t.equal(running.length, 2);
  t.equal(limited.length, 46);
  for (let i = 0; i < 4; i += 1) await finish();
  t.equal((await all).filter((result) => !REFUSED.test(result)).length, 4);
});

t.test('a failed validation releases its permit', async (t) => {
  const { gate } = setUp({ concurrent: 1, queue: 0 });
  for (let i = 0; i < 3; i += 1)
    await t.rejects(
      gate.enter('a', () => Promise.reject(new Error('down'))),
      { message: 'down' },
    );
});
