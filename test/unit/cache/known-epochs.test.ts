import t from 'tap';
import { createKnownEpochs } from '../../../src/cache/known-epochs.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

t.test('epochs that have served their time make room; if that is not enough, all entries end', (t) => {
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

t.test('an entry is current until one of its tags is dropped, however often it is asked about', (t) => {
  const epochs = createKnownEpochs(createFakeClock(), 10);
  const until = Number.MAX_SAFE_INTEGER;
  epochs.learn('a', { value: 5, until });
  const entry = epochs.unchecked([{ tag: 'x', ids: ['a', 'b'], epoch: 5 }]);
  t.ok(epochs.isCurrent(entry));
  epochs.learn('c', { value: 9, until });
  t.ok(epochs.isCurrent(entry), 'another tag was dropped');
  epochs.learn('b', { value: 6, until });
  t.notOk(epochs.isCurrent(entry));
  t.notOk(epochs.isCurrent(entry), 'it stays dropped');
  t.end();
});
