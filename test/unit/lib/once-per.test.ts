import t from 'tap';
import { oncePer } from '../../../src/lib/once-per.ts';

t.test('each object is asked about once', async (t) => {
  let asked = 0;
  const nameOf = oncePer(({ name }: { name: string | undefined }) => {
    asked += 1;
    return name;
  });
  const [alice, nobody] = [{ name: 'alice' }, { name: undefined }];
  t.same(
    [nameOf(alice), nameOf(alice), nameOf(nobody), nameOf(nobody)],
    ['alice', 'alice', undefined, undefined],
  );
  t.equal(asked, 2);
});

t.test('another object with the same content is another', async (t) => {
  const of = oncePer(() => ({}));
  t.not(of({}), of({}));
});

t.test('a refusal is reached anew each time', async (t) => {
  let asked = 0;
  const refuse = oncePer(() => {
    asked += 1;
    throw new Error('refused');
  });
  const key = {};
  t.throws(() => refuse(key));
  t.throws(() => refuse(key));
  t.equal(asked, 2);
});
