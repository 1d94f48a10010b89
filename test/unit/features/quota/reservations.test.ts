import t from 'tap';
import { readReservation } from '../../../../src/features/quota/reservation.ts';
import { createReservations, type Judged } from '../../../../src/features/quota/reservations.ts';
import { TENANT_QUOTAS } from '../../../../src/features/quota/tenant-quota-v1alpha1.ts';
import { ONE } from '../../../../src/kubernetes/quantity.ts';
import { fieldAt } from '../../../../src/lib/json-object.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { createMemoryObjects } from '../../../support/memory-objects.ts';

const PLACE = { namespace: 'stonegate' };

function setUp(status: object = { used: { pods: '0' } }) {
  const objects = createMemoryObjects();
  const quota = { kind: 'TenantQuota', metadata: { name: 'acme' }, spec: { hard: { pods: '3' } }, status };
  objects.put(TENANT_QUOTAS, PLACE, quota);
  const calls: string[] = [];
  objects.before = (verb) => void calls.push(verb);
  const clock = createFakeClock(1_000_000);
  const reservations = createReservations({ objects, place: PLACE, clock, reserves: true });
  const ask = (
    uid: string,
    { missing = [], signal = new AbortController().signal }: AskOptions = {},
  ): Promise<Judged> =>
    reservations.admit('acme', {
      id: uid,
      object: { resource: 'pods', namespace: 'web', name: uid },
      revision: 0,
      before: new Map(),
      after: new Map([['pods', ONE]]),
      isDryRun: false,
      missing: () => missing,
      signal,
    });
  const stored = () => objects.find(TENANT_QUOTAS, PLACE, 'acme');
  const open = () => {
    const lines = String(fieldAt(stored(), 'status', 'ledger') ?? '').split('\n');
    return lines.map(readReservation).flatMap((one) => (one === undefined ? [] : [one.id]));
  };
  return { objects, calls, clock, ask, open, quota, stored };
}

interface AskOptions {
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

t.test('for a second what a replica wrote is judged by without being read again', async (t) => {
  const { ask, calls, clock } = setUp();
  await ask('a');
  await ask('b');
  t.same(calls, ['get', 'updateStatus', 'updateStatus']);
  clock.advance(1_001);
  await ask('c');
  t.same(calls.slice(3), ['get', 'updateStatus']);
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
