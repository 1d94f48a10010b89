/** Equal values of the index are stored once, within bounds. */
import t from 'tap';
import { SharedValues } from '../../../src/clients/shared-values.ts';

t.test('equal values are one', async (t) => {
  const values = new SharedValues<{ readonly name: string }>(({ name }) => name);
  const first = { name: 'a' };
  t.equal(values.share(first), first);
  t.equal(values.share({ name: 'a' }), first);
  t.equal(values.size, 1);
});

t.test(
  'a long value is not stored: a role that changes often would leave all of its old rules',
  async (t) => {
    const values = new SharedValues<string>((text) => text);
    for (let n = 0; n < 100; n += 1) values.share(`${n}`.padEnd(2_000, 'x'));
    t.equal(values.size, 0);
  },
);

t.test('the stored values are bounded in characters, however many values there are', async (t) => {
  const values = new SharedValues<string>((text) => text);
  let most = 0;
  for (let n = 0; n < 20_000; n += 1) {
    values.share(`${n}`.padEnd(1_000, 'x'));
    most = Math.max(most, values.size);
  }
  t.ok(most * 1_000 <= 8 * 1024 * 1024);
});
