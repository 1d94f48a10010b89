/** One tenant's requests never keep another's from the API server: each has its own seats, and a line of its own. */
import t from 'tap';
import { type SeatSeeker, TenantSeats } from '../../../src/upstream/tenant-seats.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const PATIENCE = 20_000;

function setUp(seats: number) {
  const clock = createFakeClock();
  const told: string[] = [];
  const seeker = (name: string): SeatSeeker => ({
    onSeat: () => told.push(`${name} seated`),
    onNoSeat: () => told.push(`${name} refused`),
  });
  return { clock, told, seeker, all: new TenantSeats({ clock, seats, patience: PATIENCE }) };
}

t.test('a tenant whose seats are all taken waits in its own line, and no other does', async (t) => {
  const { all, told, seeker, clock } = setUp(1);
  const acme = all.of('acme');
  t.ok(acme.take());
  t.notOk(acme.take());
  acme.wait(seeker('one'));
  acme.wait(seeker('two'));
  t.ok(all.of('globex').take());
  acme.giveBack();
  t.same(told, ['one seated']);
  t.notOk(acme.take(), 'those who wait come first');
  acme.giveBack();
  acme.giveBack();
  t.same(told, ['one seated', 'two seated']);
  t.equal(acme.taken, 0);
  t.equal(clock.pending, 0);
});

t.test('who has found no seat in time is refused, and takes none later', async (t) => {
  const { all, told, seeker, clock } = setUp(1);
  const acme = all.of('acme');
  acme.take();
  acme.wait(seeker('one'));
  clock.advance(PATIENCE - 1);
  t.same(told, []);
  clock.advance(1);
  t.same(told, ['one refused']);
  acme.giveBack();
  t.same(told, ['one refused']);
  t.equal(acme.taken, 0);
  t.equal(clock.pending, 0);
});

t.test('who has left the line is told nothing, and holds nobody up', async (t) => {
  const { all, told, seeker, clock } = setUp(1);
  const acme = all.of('acme');
  acme.take();
  acme.wait(seeker('one')).stop();
  acme.wait(seeker('two'));
  acme.giveBack();
  t.same(told, ['two seated']);
  clock.advance(PATIENCE);
  t.same(told, ['two seated']);
});

t.test('a line of which everybody fails at once comes to its end, however long it is', async (t) => {
  const { all } = setUp(1);
  const acme = all.of('acme');
  acme.take();
  let seated = 0;
  for (let waiting = 0; waiting < 50_000; waiting += 1)
    acme.wait({
      onSeat() {
        seated += 1;
        acme.giveBack();
      },
      onNoSeat: () => t.fail('has waited too long'),
    });
  acme.giveBack();
  t.equal(seated, 50_000);
  t.equal(acme.taken, 0);
});

t.test(
  'tenants who have nothing under way are forgotten where there are very many, and no others',
  async (t) => {
    const { all } = setUp(1);
    const acme = all.of('acme');
    acme.take();
    for (let tenant = 0; tenant < 25_000; tenant += 1) all.of(`t${tenant}`);
    t.ok(all.size <= 10_000, `${all.size} tenants are known`);
    t.equal(all.of('acme'), acme);
    t.notOk(all.of('acme').take());
  },
);
