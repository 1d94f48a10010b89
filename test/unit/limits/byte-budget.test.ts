import fc from 'fast-check';
import t from 'tap';
import { ByteBudget } from '../../../src/limits/byte-budget.ts';

t.test('a key reserves no more than its share, and can release it', async (t) => {
  const budget = new ByteBudget({ total: 40, perKey: 10 });
  const acme = budget.reservation('acme');
  t.ok(acme.resize(10));
  t.notOk(budget.reservation('acme').resize(1));
  for (const key of ['globex', 'initech']) t.ok(budget.reservation(key).resize(1));
  acme.release();
  acme.release();
  t.ok(budget.reservation('acme').resize(1));
  t.equal(budget.reserved, 3);
});

t.test('the bounds hold for any reservations, and everything is released', async () => {
  const keys = ['a', 'b', 'c'];
  const step = fc.record({ holder: fc.nat(8), bytes: fc.nat(8) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = new ByteBudget({ total: 20, perKey: 10 });
      const holders = Array.from({ length: 9 }, (_, index) => {
        const key = keys[index % 3] ?? '';
        return { key, memory: budget.reservation(key) };
      });
      const sumOf = (all: typeof holders) => all.reduce((sum, { memory }) => sum + memory.bytes, 0);
      for (const { holder, bytes } of steps) {
        const { memory } = holders[holder] ?? {};
        const before = memory?.bytes ?? 0;
        const hasRoom = memory?.resize(bytes);
        if (memory?.bytes !== (hasRoom ? bytes : before) || (!hasRoom && bytes <= before)) return false;
        if (keys.some((name) => sumOf(holders.filter(({ key }) => key === name)) > 10)) return false;
        if (budget.reserved !== sumOf(holders) || budget.reserved > 20) return false;
      }
      for (const { memory } of holders) memory.release();
      return budget.reserved === 0;
    }),
  );
});
