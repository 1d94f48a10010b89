import t from 'tap';
import { memoizeByReference } from '../../../src/lib/memoize.ts';

t.test('each object is asked about once', async (t) => {
  let asked = 0;
  const nameOf = memoizeByReference(({ name }: { name: string | undefined }) => {
    asked += 1;
    return name;
  });
  const [alice, unnamed] = [{ name: 'alice' }, { name: undefined }];
  t.same(
    [nameOf(alice), nameOf(alice), nameOf(unnamed), nameOf(unnamed)],
    ['alice', 'alice', undefined, undefined],
  );
  t.equal(asked, 2);
});
