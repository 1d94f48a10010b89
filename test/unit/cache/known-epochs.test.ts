import t from 'tap';
import { createKnownEpochs } from '../../../src/cache/known-epochs.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

t.test('expired epochs are evicted first; if that is not enough, all entries become invalid', (t) => {
  const clock = createFakeClock();
  const epochs = createKnownEpochs(clock, 2);
  const entry = epochs.unchecked([{ tag: 'x', ids: ['x'], epoch: 0 }]);
  const until = clock.now() + 1_000;
  epochs.learn('a', { value: 1, until });
  epochs.learn('b', { value: 1, until: until + 1 });
  clock.advance(1_000);
  epochs.learn('c', { value: 1, until: until + 1 });
  t.equal(epochs.get('a'), undefined);
  t.ok(epochs.isCurrent(entry));
  epochs.learn('d', { value: 1, until: until + 1 });
  t.notOk(epochs.isCurrent(entry));
  t.end();
});
