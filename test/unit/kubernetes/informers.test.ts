import t, { type Test } from 'tap';
import { ObjectStore, storableObjects } from '../../../src/kubernetes/informer-store.ts';
import { Informers } from '../../../src/kubernetes/informers.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { type Read, recordedTelemetry } from '../../support/recorded-telemetry.ts';
import { scriptedResource } from '../../support/scripted-resource.ts';

const thing = (name: string) => ({ metadata: { name, resourceVersion: '5' } });
const bookmark = (revision: number) => ({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: String(revision) } },
});

/** Informers of two resources, each with a store that has room for one object. */
function follow(t: Test) {
  const clock = createFakeClock(1_000_000);
  const resources = { pots: scriptedResource(), pans: scriptedResource() };
  const listed: string[] = [];
  const reads = new Set<Read>();
  const of = (target: string) => (target.includes('pots') ? resources.pots : resources.pans).upstream;
  const informers = new Informers({
    name: 'policies',
    upstream: {
      fetch: (request, signal) => of(request.target).fetch(request, signal),
      stream: (request, signal) => of(request.target).stream(request, signal),
    },
    clock,
    random: { bytes: (size) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
    logger: silentLogger,
    telemetry: recordedTelemetry(listed, new Map(), reads),
  });
  const stores = ['pots', 'pans'].map((resource) => {
    const store = new ObjectStore<unknown>({ bounds: { objects: 1, bytes: 1_000 }, onLeftOut() {} });
    informers.add({
      path: `/apis/example.com/v1/${resource}`,
      read: storableObjects((value) => value),
      store,
    });
    return store;
  });
  t.teardown(() => informers.stop());
  return {
    ...resources,
    clock,
    informers,
    stores,
    listed,
    ages: () =>
      [...reads].flatMap((read) => {
        const readings = read();
        return typeof readings === 'object' ? readings.map(([, age]) => age) : [];
      }),
  };
}

t.test('a resource that did not fit is listed again after ten minutes', async (t) => {
  const { pots, pans, informers, listed, clock, stores, ages } = follow(t);
  pots.listWith({ items: [thing('a'), thing('b')] });
  informers.start();
  await pots.watch(1);
  await pans.watch(1);
  t.same(stores[0]?.values(), []);
  pots.listWith({ items: [thing('a')], revision: '100' });
  // Without these bookmarks the watches would count as silent.
  for (let minute = 1; minute <= 10; minute += 1) {
    clock.advance(minute === 1 ? 30_000 : 60_000);
    for (const { watches } of [pots, pans]) watches[0]?.send(bookmark(20 + minute));
    await eventually(() => ages().every((age) => age === 0));
  }
  clock.advance(30_000);
  await eventually(() => {
    if (clock.untilNext <= 2_000) clock.advance(2_000);
    return pots.watches.length === 2;
  });
  t.equal(stores[0]?.values().length, 1);
  t.same(listed, ['policies pots start', 'policies pans start', 'policies pots off']);
});
