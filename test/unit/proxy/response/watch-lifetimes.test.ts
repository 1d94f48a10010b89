/** How long Stonegate's own watches last. */
import fc from 'fast-check';
import t from 'tap';
import { WatchLifetimes, watchLifetime } from '../../../../src/proxy/response/watch-lifetimes.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

const MINUTE = 60_000;
const half = { fraction: () => 0.5 };

t.test(
  'a watch lasts as long as the client requests, at most an hour; by default 30 to 60 random minutes',
  (t) => {
    t.equal(watchLifetime(300, half), 5 * MINUTE);
    t.equal(watchLifetime(3_600, half), 60 * MINUTE);
    for (const unstated of [undefined, 0, 3_601, 86_400]) t.equal(watchLifetime(unstated, half), 45 * MINUTE);
    t.equal(watchLifetime(-1, half), 0);
    fc.assert(
      fc.property(
        fc.option(fc.integer(), { nil: undefined }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (seconds, fraction) => {
          const lifetime = watchLifetime(seconds, { fraction: () => fraction });
          return lifetime >= 0 && lifetime <= 60 * MINUTE;
        },
      ),
    );
    t.end();
  },
);

t.test('after a reload, an open watch ends within five seconds, and so does a new one', (t) => {
  const clock = createFakeClock();
  const replaced = new AbortController();
  const lifetimes = new WatchLifetimes({ clock, random: half, replaced: replaced.signal });
  let ended = 0;
  const end = () => {
    ended += 1;
  };
  lifetimes.begin(undefined, end);
  lifetimes.begin(undefined, end)();
  clock.advance(10 * MINUTE);
  replaced.abort();
  lifetimes.begin(undefined, end);
  t.equal(ended, 0, 'they do not end all at once');
  clock.advance(5_000);
  t.equal(ended, 2);
  t.end();
});
