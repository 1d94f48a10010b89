/** Drops of entries in memory, without Redis. */
import t from 'tap';
import { createProcessCache } from '../../../src/cache/process-cache.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

function setUp() {
  const clock = createFakeClock();
  return { clock, cache: createProcessCache({ clock, longestLife: 60_000 }) };
}

t.test('an entry is invalid once one of its tags was dropped; other entries stay valid', async (t) => {
  const { cache } = setUp();
  const [alice, bob] = ['user:alice', 'user:bob'].map((tag) =>
    cache.epochsOf([tag, 'tenant:acme'], cache.moment()),
  );
  if (alice === undefined || bob === undefined) throw new Error('nothing was dropped yet');
  await cache.drop(['user:alice']);
  t.equal(await cache.confirm(alice), false);
  t.equal(await cache.confirm(bob), true);
  await cache.drop(['tenant:acme']);
  t.equal(await cache.confirm(bob), false);
});

t.test('facts that were requested before a drop are not cached after the drop', async (t) => {
  const { cache } = setUp();
  const moment = cache.moment();
  await cache.drop(['user:alice']);
  t.equal(cache.epochsOf(['user:alice'], moment), undefined);
  const later = cache.epochsOf(['user:alice'], cache.moment());
  t.ok(later && (await cache.confirm(later)));
});

t.test('the cache knows what was dropped, and has no shared entries', async (t) => {
  const { cache } = setUp();
  t.equal(await cache.wasDropped('event:x'), false);
  await cache.drop(['event:x']);
  t.equal(await cache.wasDropped('event:x'), true);
  const key = { cache: 'c', digest: 'd', configurationDigest: '' };
  t.equal(await cache.find(key), undefined);
  t.equal(await cache.remove(key), true);
  cache.close();
});
