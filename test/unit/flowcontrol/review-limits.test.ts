import t from 'tap';
import { createReviewLimits } from '../../../src/flowcontrol/review-limits.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const REFUSED = { code: 'AdmissionRateExceeded', http: 429 };

function limits(changes: { perSource?: { perSecond: number; burst: number }; concurrent?: number } = {}) {
  const limited: string[] = [];
  const { enter } = createReviewLimits({
    perSource: { perSecond: 1_000, burst: 1_000 },
    concurrent: 2,
    clock: createFakeClock(),
    telemetry: { ...noTelemetry, admissionReview: (result) => void limited.push(result) },
    ...changes,
  });
  return { enter, limited };
}

/** Work that ends when it is told to. */
function pending() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { work: () => promise, end: resolve };
}

t.test('a source over its rate is refused; another one is not', async (t) => {
  const { enter, limited } = limits({ perSource: { perSecond: 1, burst: 2 } });
  const ask = (source: string) => enter(source, 1, async () => 'done');
  t.equal(await ask('192.0.2.1'), 'done');
  t.equal(await ask('192.0.2.1'), 'done');
  await t.rejects(ask('192.0.2.1'), REFUSED);
  t.equal(await ask('192.0.2.2'), 'done');
  t.same(limited, ['limited']);
});

t.test('a source waits for its own reviews, in a bounded queue, and holds up no other', async (t) => {
  const { enter } = limits();
  const first = pending();
  const running = [1, 2, 3, 4].map(() => enter('192.0.2.1', 1, first.work));
  await t.rejects(enter('192.0.2.1', 1, first.work), REFUSED);
  t.equal(await enter('192.0.2.2', 1, async () => 'done'), 'done');
  first.end();
  await Promise.all(running);
  t.equal(await enter('192.0.2.1', 1, async () => 'done'), 'done', 'all permits are free again');
});

t.test('bodies are bounded in memory, and released after an error too', async (t) => {
  const { enter } = limits({ concurrent: 64 });
  const size = 8 * 1024 * 1024;
  const first = pending();
  const running = Array.from({ length: 6 }, () => enter('192.0.2.1', size, first.work));
  await t.rejects(enter('192.0.2.1', size, first.work), REFUSED);
  t.equal(await enter('192.0.2.2', size, async () => 'done'), 'done');
  first.end();
  await Promise.all(running);
  for (let at = 0; at < 10; at += 1)
    await t.rejects(
      enter('192.0.2.1', size, async () => Promise.reject(new Error('broken'))),
      /broken/,
    );
});
