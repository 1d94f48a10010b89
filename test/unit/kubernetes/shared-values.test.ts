/** Equal values of the index are stored once. */
import t from 'tap';
import { SharedValues } from '../../../src/kubernetes/shared-values.ts';

interface Named {
  readonly name: string;
}

t.test('equal values become the same object', async (t) => {
  const values = new SharedValues<Named>(({ name }) => name);
  const first = { name: 'a' };
  t.equal(values.share(first), first);
  t.equal(values.share({ name: 'a' }), first);
});
