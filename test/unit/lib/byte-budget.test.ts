import fc from 'fast-check';
import t from 'tap';
import { ByteBudget } from '../../../src/lib/byte-budget.ts';

t.test('a key reserves no more than its part, and releases it', async (t) => {
  const budget = new ByteBudget({ total: 40, perKey: 10 });
  t.ok(budget.tryReserve('acme', 10));
  t.notOk(budget.tryReserve('acme', 1));
  for (const key of ['globex', 'initech']) t.ok(budget.tryReserve(key, 1));
  budget.release('acme', 10);
  t.ok(budget.tryReserve('acme', 1));
  t.equal(budget.reserved, 3);
});

t.test('all keys together reserve no more than the total', async (t) => {
  const budget = new ByteBudget({ total: 40, perKey: 10 });
  for (let index = 0; index < 4; index += 1) t.ok(budget.tryReserve(`t${index}`, 10));
  t.notOk(budget.tryReserve('another', 1));
});

t.test('a reservation is released once, however often that is asked for', async (t) => {
  const budget = new ByteBudget({ total: 15, perKey: 10 });
  const release = budget.reserve('acme', 10);
  t.equal(budget.reserve('globex', 10), undefined);
  release?.();
  release?.();
  t.equal(budget.reserved, 0);
  t.ok(budget.reserve('globex', 10));
  t.equal(budget.reserve('acme', 6), undefined);
});

t.test('whatever is reserved and released, the bounds hold and nothing is lost', async () => {
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c'), bytes: fc.nat(8), release: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = new ByteBudget({ total: 20, perKey: 10 });
      const held: { key: string; bytes: number; release: () => void }[] = [];
      for (const { key, bytes, release } of steps) {
        if (release) held.shift()?.release();
        else {
          const reserved = budget.reserve(key, bytes);
          if (reserved !== undefined) held.push({ key, bytes, release: reserved });
        }
        const of = (name: string): number =>
          held.filter((each) => each.key === name).reduce((sum, each) => sum + each.bytes, 0);
        if (['a', 'b', 'c'].some((name) => of(name) > 10)) return false;
        if (budget.reserved !== of('a') + of('b') + of('c') || budget.reserved > 20) return false;
      }
      for (const { release } of held) release();
      return budget.reserved === 0;
    }),
  );
});
