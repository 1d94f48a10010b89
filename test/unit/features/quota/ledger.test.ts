import t from 'tap';
import { type Claim, judge, type Ledger, settle } from '../../../../src/features/quota/ledger.ts';
import type { Usage } from '../../../../src/features/quota/usage.ts';

const NOTHING: Usage = new Map();
const usage = (amounts: Readonly<Record<string, number>>): Usage =>
  new Map(Object.entries(amounts).map(([name, amount]) => [name, BigInt(amount)]));

const creating = (uid: string, amounts: Readonly<Record<string, number>>): Claim => {
  return { uid, before: NOTHING, after: usage(amounts) };
};

function ledger(changes: Partial<Ledger> = {}): Ledger {
  const hard = usage({ pods: 10, cpu: 8 });
  return { hard, used: usage({ pods: 0, cpu: 0 }), reservations: [], ...changes };
}

/** The ledger after requests that are all admitted. */
function after(
  start: Ledger,
  ...claims: readonly (readonly [uid: string, before: Usage, after: Usage])[]
): Ledger {
  return claims.reduce((current, [uid, before, wanted]) => {
    const verdict = judge(current, { uid, before, after: wanted });
    if (verdict.kind !== 'admitted') throw new Error(`${uid}: ${verdict.kind}`);
    return verdict.ledger;
  }, start);
}

t.test('D203 a request that exceeds one resource reserves nothing of another', async (t) => {
  const start = ledger();
  const verdict = judge(start, creating('a', { pods: 1, cpu: 9 }));
  t.match(verdict, { kind: 'exceeded', exceeded: [{ resource: 'cpu', requested: 9n, used: 0n, hard: 8n }] });
  t.same(start.reservations, []);
});

t.test('a repeated review of one object counts once, also after it was resized', async (t) => {
  const once = after(ledger(), ['a', NOTHING, usage({ pods: 1, cpu: 4 })]);
  const again = after(once, ['a', NOTHING, usage({ pods: 1, cpu: 4 })]);
  t.equal(again, once, 'there is nothing to write');
  const resized = after(once, ['a', usage({ pods: 1, cpu: 4 }), usage({ pods: 1, cpu: 6 })]);
  t.match(judge(resized, creating('b', { cpu: 3 })), { kind: 'exceeded' });
  t.match(judge(resized, creating('b', { cpu: 2 })), { kind: 'admitted' });
});

t.test('a smaller size does not release what an earlier request may still store', async (t) => {
  const larger = after(ledger(), ['a', usage({ cpu: 1 }), usage({ cpu: 7 })]);
  const smaller = after(larger, ['a', usage({ cpu: 1 }), usage({ cpu: 2 })]);
  t.match(judge(smaller, creating('b', { cpu: 3 })), { kind: 'exceeded' });
});

t.test(
  'a request that increases no limited resource is admitted in a tenant that is over its quota',
  async (t) => {
    const over = ledger({ used: usage({ pods: 20, cpu: 20 }) });
    t.match(judge(over, { uid: 'a', before: usage({ cpu: 5 }), after: usage({ cpu: 4 }) }), {
      kind: 'admitted',
    });
    t.match(judge(over, creating('a', { services: 1 })), { kind: 'admitted' });
  },
);

t.test('D215 a request for a resource that has not been counted is not admitted', async (t) => {
  const claim = creating('a', { pods: 1, cpu: 1 });
  t.match(judge(ledger({ used: undefined }), claim), { kind: 'uncounted' });
  t.match(judge(ledger({ used: usage({ pods: 0 }) }), claim), { kind: 'uncounted', resources: ['cpu'] });
});

t.test('at most 1,024 requests may be in progress', async (t) => {
  const reservations = Array.from({ length: 1_024 }, (_, at) => ({
    uid: `r${at}`,
    usage: usage({ services: 1 }),
    seen: NOTHING,
  }));
  const full = ledger({ reservations });
  t.match(judge(full, creating('a', { pods: 1 })), { kind: 'full' });
  t.match(judge(full, creating('r1', { services: 1, pods: 1 })), {
    kind: 'admitted',
  });
});

t.test('counting ends a reservation once its object is seen with the reserved usage', async (t) => {
  const reserved = after(
    ledger(),
    ['seen', NOTHING, usage({ pods: 1, cpu: 1 })],
    ['smaller', NOTHING, usage({ pods: 1, cpu: 3 })],
    ['over', NOTHING, usage({ pods: 1 })],
    ['unseen', NOTHING, usage({ pods: 1 })],
  );
  const counted = new Map([
    ['seen', usage({ pods: 1, cpu: 1 })],
    ['smaller', usage({ pods: 1, cpu: 2 })],
  ]);
  const settled = settle(reserved, {
    used: usage({ pods: 2, cpu: 3 }),
    usageOf: (uid) => counted.get(uid),
    isOver: ({ uid }) => uid === 'over',
  });
  t.same(
    settled.reservations.map(({ uid, seen }) => [uid, [...seen]]),
    [
      [
        'smaller',
        [
          ['pods', 1n],
          ['cpu', 2n],
        ],
      ],
      ['unseen', []],
    ],
  );
  t.match(judge(settled, creating('next', { cpu: 5 })), {
    exceeded: [{ resource: 'cpu', used: 3n, reserved: 1n }],
  });
});

t.test('a reservation names only resources of the quota, whatever the object names', async (t) => {
  const names = Array.from({ length: 5_000 }, (_, at) => [`requests.example.com/${at}`, 1] as const);
  const wide = usage({ pods: 1, cpu: 2, ...Object.fromEntries(names) });
  const reserved = after(ledger(), ['a', NOTHING, wide]);
  t.same([...(reserved.reservations[0]?.usage.keys() ?? [])], ['pods', 'cpu']);
  const resized = after(ledger(), ['a', wide, new Map([...wide, ['cpu', 3n]])]);
  const counted = settle(resized, { used: wide, usageOf: () => wide, isOver: () => false });
  for (const { reservations } of [resized, counted])
    t.same([...(reservations[0]?.seen.keys() ?? [])], ['pods', 'cpu']);
});
