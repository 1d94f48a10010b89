/** Equal values of the index are stored once, within bounds. */
import t from 'tap';
import { SharedValues } from '../../../src/kubernetes/shared-values.ts';

interface Named {
  readonly name: string;
}

t.test('equal values are one', async (t) => {
  const values = new SharedValues<Named>(({ name }) => name);
  const first = { name: 'a' };
  t.equal(values.share(first), first);
  t.equal(values.share({ name: 'a' }), first);
});

t.test('after many others a value is forgotten', async (t) => {
  const values = new SharedValues<Named>(({ name }) => name);
  values.share({ name: 'a' });
  for (let n = 0; n < 10_000; n += 1) values.share({ name: `${n}` });
  const again = { name: 'a' };
  t.equal(values.share(again), again);
});
