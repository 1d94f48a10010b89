import t from 'tap';
import {
  type Claim,
  createLedger,
  isOver,
  isUrgent,
  judge,
  type Ledger,
  settle,
} from '../../../../src/features/quota/ledger.ts';
import { createReservation } from '../../../../src/features/quota/reservation.ts';
import type { Usage } from '../../../../src/kubernetes/resource-quota/usage.ts';

const NOTHING: Usage = new Map();
type Amounts = Readonly<Record<string, number>>;
const usage = (amounts: Amounts): Usage =>
  new Map(Object.entries(amounts).map(([name, amount]) => [name, BigInt(amount) * 1_000_000_000n]));
const pod = (name: string) => ({ resource: 'pods', namespace: 'web', name });

const creating = (id: string, amounts: Amounts): Claim => {
  return { id, object: pod(id), revision: 0, before: NOTHING, after: usage(amounts) };
};
const updating = (id: string, revision: number, before: Amounts, after: Amounts): Claim => {
  return { id, object: pod(id), revision, before: usage(before), after: usage(after) };
};

function ledger({
  hard = { pods: 10, cpu: 8 },
  used = { pods: 0, cpu: 0 },
}: Partial<Record<'hard' | 'used', Amounts>> = {}) {
  return createLedger(usage(hard), usage(used), []);
}

/** The ledger after requests that are all admitted; each is marked by its number. */
function after(start: Ledger, ...claims: readonly Claim[]): Ledger {
  return claims.reduce((current, claim, at) => {
    const verdict = judge(current, claim, `m${at}`);
    if (verdict.kind !== 'admitted') throw new Error(`${claim.id}: ${verdict.kind}`);
    return verdict.ledger;
  }, start);
}

t.test('D203 a request that exceeds one resource reserves nothing of another', async (t) => {
  const start = ledger();
  const verdict = judge(start, creating('a', { pods: 1, cpu: 9 }), 'm');
  t.match(verdict, { kind: 'exceeded' });
  t.same(verdict.kind === 'exceeded' && verdict.requested, usage({ cpu: 9 }));
  t.equal(start.reservations.size, 0);
});

t.test('a repeated review of one object counts once, and begins its time anew', async (t) => {
  const once = after(ledger(), creating('a', { pods: 1, cpu: 4 }));
  const again = judge(once, creating('a', { pods: 1, cpu: 4 }), 'again');
  if (again.kind !== 'admitted') throw new Error(again.kind);
  t.same(again.ledger.reserved, once.reserved);
  t.equal(again.ledger.reservations.get('a')?.mark, 'again');
});

t.test('a reservation has the largest revision at which its object was reviewed', async (t) => {
  const late = after(
    ledger(),
    updating('a', 9, { cpu: 1 }, { cpu: 4 }),
    updating('a', 7, { cpu: 1 }, { cpu: 2 }),
  );
  t.equal(late.reservations.get('a')?.revision, 9);
  const less = after(
    ledger(),
    updating('a', 7, { cpu: 1 }, { cpu: 4 }),
    updating('a', 9, { cpu: 1 }, { cpu: 2 }),
  );
  t.equal(less.reservations.get('a')?.revision, 9, 'also if the later review asked for no more');
});

t.test('a review of a past state of the object hides nothing of what a present one asks for', async (t) => {
  // The pod was resized from 3 to 1 before, which is counted.
  const start = ledger({ used: { cpu: 1 } });
  const past = after(start, updating('a', 5, { cpu: 3 }, { cpu: 4 }));
  const present = after(past, updating('a', 7, { cpu: 1 }, { cpu: 4 }));
  t.same(present.reserved.get('cpu'), usage({ cpu: 3 }).get('cpu'));
});

t.test('a smaller size does not release what an earlier request may still store', async (t) => {
  const larger = after(ledger(), updating('a', 1, { cpu: 1 }, { cpu: 7 }));
  const smaller = after(larger, updating('a', 1, { cpu: 1 }, { cpu: 2 }));
  t.match(judge(smaller, creating('b', { cpu: 3 }), 'm'), { kind: 'exceeded' });
});

t.test(
  'a request that increases no limited resource is admitted in a tenant that is over its quota',
  async (t) => {
    const over = ledger({ used: { pods: 20, cpu: 20 } });
    t.match(judge(over, updating('a', 1, { cpu: 5 }, { cpu: 4 }), 'm'), { kind: 'admitted', ledger: over });
    t.match(judge(over, creating('a', { services: 1 }), 'm'), { kind: 'admitted', ledger: over });
  },
);

t.test(
  'D215 a request for a resource that has not been counted is not admitted; one for others is',
  async (t) => {
    const start = ledger({ used: { pods: 0 } });
    t.match(judge(start, creating('a', { pods: 1, cpu: 1 }), 'm'), { kind: 'uncounted', resources: ['cpu'] });
    t.match(judge(start, creating('a', { pods: 1 }), 'm'), { kind: 'admitted' });
  },
);

t.test('at most 1,024 requests and 256 KiB may be in progress', async (t) => {
  const full = (name: (at: number) => string) =>
    createLedger(
      usage({ pods: 5_000, services: 5_000 }),
      usage({ pods: 0, services: 0 }),
      Array.from({ length: 1_024 }, (_, at) =>
        createReservation({
          ...{ id: `r${at}`, mark: '1', revision: 0, object: pod(name(at)) },
          ...{ usage: usage({ services: 1 }), seen: NOTHING },
        }),
      ),
    );
  t.match(judge(full(String), creating('a', { pods: 1 }), 'm'), { kind: 'full' });
  t.match(judge(full(String), creating('r1', { services: 1, pods: 1 }), 'm'), { kind: 'admitted' });
  const long = full(() => 'x'.repeat(250));
  t.match(judge(long, creating('r1', { services: 1, pods: 1 }), 'm'), { kind: 'full' });
});

t.test('a reservation names only resources of the quota, whatever the object names', async (t) => {
  const names = Array.from({ length: 5_000 }, (_, at) => [`requests.example.com/${at}`, 1] as const);
  const wide = { pods: 1, cpu: 2, ...Object.fromEntries(names) };
  const [created] = after(ledger(), creating('a', wide)).reservations.values();
  t.same([...(created?.usage.keys() ?? [])], ['pods', 'cpu']);
  const counted = settle(after(ledger(), creating('a', wide)), usage({ pods: 0, cpu: 0 }), () => usage(wide));
  t.same([...([...counted.reservations.values()][0]?.seen.keys() ?? [])], ['pods', 'cpu']);
});

t.test(
  'counting ends what is over, keeps what is not counted at the moment, and updates the rest',
  async (t) => {
    const reserved = after(
      ledger(),
      ...['over', 'unknown', 'smaller'].map((id) => creating(id, { pods: 1, cpu: 2 })),
    );
    const settled = settle(reserved, usage({ pods: 1 }), ({ id }) =>
      id === 'over' ? 'over' : id === 'smaller' ? usage({ pods: 1, cpu: 1 }) : undefined,
    );
    t.same([...settled.reservations.keys()], ['unknown', 'smaller']);
    t.same(settled.used, usage({ pods: 1, cpu: 0 }));
    t.same(settled.reserved, usage({ pods: 1, cpu: 3 }));
  },
);

t.test('a reservation ends as soon as it is known what became of its object', async (t) => {
  const [reservation] = after(ledger(), updating('a', 7, { cpu: 1 }, { cpu: 4 })).reservations.values();
  const over = (revision: number | undefined, found?: number, wasDeleted = false) =>
    reservation && isOver(reservation, { revision, wasDeleted, found });
  t.equal(over(undefined), false);
  t.equal(over(7), false, 'the state that was reviewed');
  t.equal(over(8), true, 'a later one, whatever it uses');
  t.equal(over(undefined, undefined, true), true, 'deleted');
  t.equal(over(undefined, 0), true, 'after its time there is no such object');
  t.equal(over(7, 7), true, 'after its time it was not changed');
  t.equal(over(6, 7), false, 'but the counter has not seen what was reviewed');
  t.equal(over(7, 8), false, 'it was changed: the counter will see it');
});

t.test(
  'a status is written at once if room is given back or scarce, or there are many reservations',
  async (t) => {
    const urgent = (before: Ledger, changed: Ledger) => isUrgent(before, changed);
    const one = after(ledger(), creating('a', { pods: 1, cpu: 1 }));
    const counted = settle(one, usage({ pods: 1, cpu: 1 }), () => 'over');
    t.equal(urgent(one, counted), false);
    t.equal(
      urgent(
        one,
        settle(one, NOTHING, () => 'over'),
      ),
      true,
      'given back',
    );
    t.equal(urgent(ledger({ used: { pods: 8 } }), ledger({ used: { pods: 8 } })), true, 'scarce');
    t.equal(urgent(ledger({ used: {} }), ledger()), true, 'counted for the first time');
    const many = after(
      ledger({ hard: { pods: 100 } }),
      ...Array.from({ length: 32 }, (_, at) => creating(`p${at}`, { pods: 1 })),
    );
    t.equal(urgent(many, many), true);
  },
);
