import t from 'tap';
import { createReviewLimits } from '../../../src/limits/review-limits.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const REFUSED = { code: 'AdmissionRateExceeded', http: 429 };

function limits(changes: { perSource?: { perSecond: number; burst: number }; concurrent?: number } = {}) {
  const limited = { count: 0 };
  const { enter } = createReviewLimits({
    perSource: { perSecond: 1_000, burst: 1_000 },
    concurrent: 2,
    clock: createFakeClock(),
    onRefused() {
      limited.count += 1;
    },
    ...changes,
  });
  return { enter, limited };
}

/** Work that ends when the test calls `end`. */
function pending() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { work: () => promise, end: resolve };
}

t.test('a source over its rate is refused; other sources are not', async (t) => {
  const { enter, limited } = limits({ perSource: { perSecond: 1, burst: 2 } });
  const ask = (source: string) => enter(source, async () => 'done');
  t.equal(await ask('192.0.2.1'), 'done');
  t.equal(await ask('192.0.2.1'), 'done');
  await t.rejects(ask('192.0.2.1'), REFUSED);
  t.equal(await ask('192.0.2.2'), 'done');
  t.equal(limited.count, 1);
});

t.test('a source waits for its own reviews, in a bounded queue, and delays no other', async (t) => {
  const { enter } = limits();
  const first = pending();
  const running = [1, 2, 3, 4].map(() => enter('192.0.2.1', first.work));
  await t.rejects(enter('192.0.2.1', first.work), REFUSED);
  t.equal(await enter('192.0.2.2', async () => 'done'), 'done');
  first.end();
  await Promise.all(running);
  t.equal(await enter('192.0.2.1', async () => 'done'), 'done', 'all permits are free again');
});

const MEBIBYTE = 1024 * 1024;

t.test('a source reserves at most an eighth of the memory, and none before its body arrives', async (t) => {
  const { enter, limited } = limits({ concurrent: 64 });
  const first = pending();
  const holding = (source: string, bytes: number) =>
    enter(source, ({ onSize }) => {
      onSize(bytes);
      return first.work();
    });
  const silent = Array.from({ length: 64 }, () => enter('192.0.2.1', first.work));
  const running = [holding('192.0.2.1', 8 * MEBIBYTE), holding('192.0.2.2', 8 * MEBIBYTE)];
  await t.rejects(holding('192.0.2.2', 5 * MEBIBYTE), REFUSED);
  t.equal(limited.count, 1);
  for (let other = 3; other <= 8; other += 1) running.push(holding(`192.0.2.${other}`, 12 * MEBIBYTE));
  t.equal(await enter('192.0.2.9', async ({ onSize }) => onSize(8 * MEBIBYTE)), undefined);
  first.end();
  await Promise.all([...silent, ...running]);
});

t.test('memory is released after an error, and cannot be reserved afterwards', async (t) => {
  const { enter } = limits({ perSource: { perSecond: 1e6, burst: 1e6 } });
  let later: ((bytes: number) => void) | undefined;
  for (let at = 0; at < 10; at += 1)
    await t.rejects(
      enter('192.0.2.1', async ({ onSize }) => {
        onSize(8 * MEBIBYTE);
        later = onSize;
        throw new Error('broken');
      }),
      /broken/,
    );
  t.throws(() => later?.(8 * MEBIBYTE), /has ended/);
  t.equal(await enter('192.0.2.1', async ({ onSize }) => onSize(12 * MEBIBYTE)), undefined);
});

t.test('a large body counts as several reviews', async (t) => {
  const { enter } = limits({ perSource: { perSecond: 1, burst: 1_000 } });
  const ask = (bytes: number) => enter('192.0.2.1', async ({ onSize }) => onSize(bytes));
  await ask(3 * MEBIBYTE);
  await ask(3 * MEBIBYTE);
  await t.rejects(ask(1), REFUSED, 'the source is refused until its debt is paid');
  t.equal(await enter('192.0.2.2', async () => 'done'), 'done');
});

t.test('sources are served in turn', async (t) => {
  const { enter } = limits({ concurrent: 8 });
  const judged: string[] = [];
  const review = (source: string) =>
    enter(source, async ({ inTurn }) => inTurn(() => void judged.push(source)));
  const flood = [1, 2, 3, 4].map(() => review('192.0.2.1'));
  await Promise.all([...flood, review('192.0.2.2'), review('192.0.2.3')]);
  t.same(
    judged.map((source) => source.at(-1)),
    ['1', '2', '3', '1', '1', '1'],
  );
});
