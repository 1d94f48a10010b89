import t from 'tap';
import { createReservation, readReservation } from '../../../../src/features/quota/reservation.ts';
import { createReservations, type Judged } from '../../../../src/features/quota/reservations.ts';
import { TENANT_QUOTAS } from '../../../../src/features/quota/tenant-quota-v1alpha1.ts';
import { ONE } from '../../../../src/kubernetes/quantity.ts';
import type { Usage } from '../../../../src/kubernetes/resource-quota/usage.ts';
import { fieldAt } from '../../../../src/lib/json-object.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { createMemoryObjects } from '../../../support/memory-objects.ts';

const PLACE = { namespace: 'stonegate' };

function setUp(status: object = { used: { pods: '0' } }, pods = '3') {
  const objects = createMemoryObjects();
  const quota = { kind: 'TenantQuota', metadata: { name: 'acme' }, spec: { hard: { pods } }, status };
  objects.put(TENANT_QUOTAS, PLACE, quota);
  const calls: string[] = [];
  objects.before = (verb) => void calls.push(verb);
  const clock = createFakeClock(1_000_000);
  const reservations = createReservations({
    objects,
    place: PLACE,
    clock,
    random: systemRandom,
    reserves: true,
  });
  const ask = (
    uid: string,
    {
      tenant = 'acme',
      missing = [],
      signal = new AbortController().signal,
      revision = 0,
      after = ONE_POD,
    }: AskOptions = {},
  ): Promise<Judged> =>
    reservations.admit(tenant, {
      id: uid,
      object: { resource: 'pods', namespace: 'web', name: uid },
      revision,
      before: new Map(),
      after,
      isDryRun: false,
      missing: () => missing,
      signal,
    });
  const stored = () => objects.find(TENANT_QUOTAS, PLACE, 'acme');
  const close = () => reservations.close();
  const open = () => {
    const lines = String(fieldAt(stored(), 'status', 'ledger') ?? '').split('\n');
    return lines.map(readReservation).flatMap((one) => (one === undefined ? [] : [one.id]));
  };
  return { objects, calls, clock, ask, close, open, quota, stored };
}

const ONE_POD: Usage = new Map([['pods', ONE]]);

interface AskOptions {
  readonly tenant?: string;
  readonly after?: Usage;
  readonly revision?: number;
  readonly missing?: readonly string[];
  readonly signal?: AbortSignal;
}

const kinds = (judged: readonly Judged[]) => judged.map(({ verdict }) => verdict.kind);

t.test('requests that wait are judged in order, and written with one update', async (t) => {
  const { ask, calls, open } = setUp();
  const first = ask('a');
  const others = ['b', 'c', 'd'].map((uid) => ask(uid));
  t.same(kinds([await first, ...(await Promise.all(others))]), [
    'admitted',
    'admitted',
    'admitted',
    'exceeded',
  ]);
  t.same(calls, ['get', 'updateStatus', 'updateStatus']);
  t.same(open(), ['a', 'b', 'c']);
});

t.test('for five seconds what a replica wrote is judged by without being read again', async (t) => {
  const { ask, calls, clock } = setUp();
  await ask('a');
  await ask('b');
  t.same(calls, ['get', 'updateStatus', 'updateStatus']);
  clock.advance(5_001);
  await ask('c');
  t.same(calls.slice(3), ['get', 'updateStatus']);
});

t.test('a request that an older state does not limit is judged by the present one', async (t) => {
  const { ask, calls, clock, objects, quota } = setUp({ used: {} });
  objects.put(TENANT_QUOTAS, PLACE, { ...quota, spec: { hard: { services: '1' } } });
  await ask('a');
  objects.put(TENANT_QUOTAS, PLACE, {
    ...quota,
    spec: { hard: { pods: '0' } },
    status: { used: { pods: '0' } },
  });
  calls.length = 0;
  clock.advance(1_000);
  t.same(kinds([await ask('b')]), ['exceeded']);
  t.same(calls, ['get']);
});

t.test(
  'after another client’s change there is one read, and the mark is that of the new state',
  async (t) => {
    const { ask, calls, objects, quota, stored, open } = setUp();
    await ask('a');
    objects.put(TENANT_QUOTAS, PLACE, quota);
    const mark = stored()?.metadata.resourceVersion;
    calls.length = 0;
    await ask('b');
    t.same(calls, ['updateStatus', 'get', 'updateStatus']);
    t.same(open(), ['b']);
    const line = String(fieldAt(stored(), 'status', 'ledger'));
    t.equal(readReservation(line)?.mark, mark);
  },
);

t.test('what a former release reserved still counts', async (t) => {
  const { ask, open, stored } = setUp({
    used: { pods: '0' },
    reservations: ['a', 'b'].map((uid) => ({ uid: `${uid}/web/${uid}`, usage: { pods: '1' } })),
  });
  t.same(kinds([await ask('c'), await ask('d')]), ['admitted', 'exceeded']);
  t.equal(open().length, 3);
  t.equal(fieldAt(stored(), 'status', 'reservations'), undefined);
});

t.test('D205 after another replica’s change everything is judged anew', async (t) => {
  const { ask, objects, quota, open } = setUp();
  let changes = 0;
  objects.before = (verb) => {
    if (verb !== 'updateStatus' || changes > 0) return;
    changes += 1;
    objects.put(TENANT_QUOTAS, PLACE, { ...quota, status: { used: { pods: '3' } } });
  };
  t.same(kinds(await Promise.all([ask('a'), ask('b')])), ['exceeded', 'exceeded']);
  t.same(open(), []);
});

t.test('a request is refused by the present state of the quota, never by a former one', async (t) => {
  const { ask, objects, quota } = setUp({ used: { pods: '3' } });
  const first = ask('a');
  const second = first.then(() => {});
  // The second request is judged by what is known from the first, unless that would refuse it.
  const late = ask('b');
  objects.before = (verb) => {
    if (verb === 'get') objects.put(TENANT_QUOTAS, PLACE, { ...quota, status: { used: { pods: '0' } } });
  };
  await second;
  t.match((await late).verdict, { kind: 'admitted' });
});

t.test('D207 a replica whose updates always come too late gives up after eight', async (t) => {
  const { ask, objects, quota } = setUp();
  let attempts = 0;
  objects.before = (verb) => {
    if (verb !== 'updateStatus') return;
    attempts += 1;
    objects.put(TENANT_QUOTAS, PLACE, {
      ...quota,
      metadata: { name: 'acme', annotations: { at: `${attempts}` } },
    });
  };
  t.match((await ask('a')).verdict, { kind: 'contended' });
  t.equal(attempts, 8);
});

t.test('a request that the client has given up reserves nothing', async (t) => {
  const { ask, open } = setUp();
  await t.rejects(ask('given-up', { signal: AbortSignal.abort() }));
  await ask('a');
  t.same(open(), ['a']);
});

t.test('a pod that does not specify a limited resource reserves nothing', async (t) => {
  const { ask, open } = setUp();
  t.match((await ask('a', { missing: ['cpu for: c'] })).verdict, {
    kind: 'unspecified',
    missing: ['cpu for: c'],
  });
  t.same(open(), []);
});

t.test(
  'without a TenantQuota there is no verdict; an error of the API server is passed to the caller',
  async (t) => {
    const { ask, objects } = setUp();
    objects.drop(TENANT_QUOTAS, PLACE, 'acme');
    t.match((await ask('a')).verdict, { kind: 'absent' });
    objects.before = () => {
      throw new Error('down');
    };
    await t.rejects(ask('b'), /down/);
  },
);

t.test(
  'a request that is given up while it waits ends at once, and holds up nothing at its API server',
  async (t) => {
    const { ask, open } = setUp();
    const first = ask('a');
    const caller = new AbortController();
    const waiting = ask('b', { signal: caller.signal });
    caller.abort(new Error('cancelled'));
    t.equal(
      await Promise.race([waiting.catch(({ message }) => message), first.then(() => 'still waits')]),
      'cancelled',
    );
    await first;
    await t.rejects(ask('c', { signal: caller.signal }), /cancelled/);
    t.same(open(), ['a']);
  },
);

/** What replicas reserve in advance has an id of its own. */
const objectsAmong = (ids: readonly string[]) => ids.filter((id) => id.length === 1);

t.test('far from the limit a busy replica admits without a write, and writes within 4 seconds', async (t) => {
  const { ask, calls, clock, open } = setUp({ used: { pods: '0' } }, '1000');
  await ask('a');
  await ask('b');
  calls.length = 0;
  t.same(kinds([await ask('c'), await ask('d')]), ['admitted', 'admitted']);
  t.same(calls, []);
  t.same(objectsAmong(open()), ['a', 'b']);
  t.equal(open().length, 3, 'what they may use is reserved');
  clock.advance(4_000);
  await eventually(() => objectsAmong(open()).length === 4 && clock.pending === 1);
  clock.advance(4_000);
  await eventually(() => open().length === 4);
  await eventually(() => clock.pending === 0);
  t.pass('a tenant that asks for nothing more costs nothing');
});

t.test('a replica reserves one part in sixteen of what is free in advance, at most 64 objects', async (t) => {
  for (const [pods, most] of [
    ['10000', 64],
    ['402', 25],
  ] as const) {
    const { ask, calls, close } = setUp({ used: { pods: '0' } }, pods);
    for (const uid of ['a', 'b']) await ask(uid);
    calls.length = 0;
    for (let at = 0; at < most; at += 1) await ask(`further-${at}`);
    t.same(calls, []);
    await ask('one more');
    t.same(calls, ['updateStatus']);
    close();
  }
});

t.test('where more than three quarters are used every request is written', async (t) => {
  const { ask, calls } = setUp({ used: { pods: '760' } }, '1000');
  for (const uid of ['a', 'b', 'c']) await ask(uid);
  t.same(calls, ['get', 'updateStatus', 'updateStatus', 'updateStatus']);
});

t.test('updates and repeated reviews are never admitted from what is reserved in advance', async (t) => {
  const { ask, calls, close } = setUp({ used: { pods: '0' } }, '1000');
  for (const uid of ['a', 'b', 'c']) await ask(uid);
  for (const again of [() => ask('c'), () => ask('a'), () => ask('e', { revision: 7 })]) {
    calls.length = 0;
    await again();
    t.same(calls, ['updateStatus']);
  }
  close();
});

t.test('what was admitted in advance stays reserved if other replicas write first', async (t) => {
  const { ask, objects, quota, clock, open, close } = setUp({ used: { pods: '0' } }, '1000');
  for (const uid of ['a', 'b', 'c']) await ask(uid);
  objects.put(TENANT_QUOTAS, PLACE, quota);
  clock.advance(4_000);
  await eventually(() => objectsAmong(open()).includes('c'));
  t.same(objectsAmong(open()), ['c'], 'the other lines were removed by the other client');
  close();
});

t.test(
  'objects that use less than was expected are as few in advance, and others need no line',
  async (t) => {
    const { ask, calls, open, close } = setUp({ used: { pods: '0' } }, '10000');
    for (const uid of ['a', 'b']) await ask(uid);
    calls.length = 0;
    for (let at = 0; at < 100; at += 1) await ask(`nothing-${at}`, { after: new Map([['pods', 0n]]) });
    for (let at = 0; at < 64; at += 1) await ask(`small-${at}`, { after: new Map([['pods', 1n]]) });
    t.same(calls, []);
    await ask('one more', { after: new Map([['pods', 1n]]) });
    t.same(calls, ['updateStatus']);
    t.equal(open().length, 2 + 64 + 1 + 1);
    close();
  },
);

t.test('what a replica wrote is forgotten beyond 32 MiB, the least recently used first', async (t) => {
  const { ask, calls, objects, quota } = setUp({ used: { pods: '0' } }, '5000');
  const line = (name: string) =>
    createReservation({
      ...{ id: name, mark: '1', revision: 0, object: { resource: 'pods', namespace: 'web', name } },
      ...{ usage: ONE_POD, seen: new Map() },
    }).line;
  const lines = Array.from({ length: 1_000 }, (_, at) => line(`${at}`.padEnd(100, 'x')));
  const tenants = Array.from({ length: 20 }, (_, at) => `t${at}`);
  for (const name of tenants) {
    const status = { used: { pods: '0' }, ledger: lines.join('\n') };
    objects.put(TENANT_QUOTAS, PLACE, { ...quota, metadata: { name }, status });
    await ask('a', { tenant: name });
  }
  calls.length = 0;
  await ask('b', { tenant: 't19' });
  t.same(calls, ['updateStatus']);
  await ask('b', { tenant: 't0' });
  t.same(calls, ['updateStatus', 'get', 'updateStatus']);
});
