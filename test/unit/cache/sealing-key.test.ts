import t from 'tap';
import { createSealingKey } from '../../../src/cache/sealing-key.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { sealingKey } from '../../support/redis/replica.ts';

const key = createSealingKey(sealingKey(1), systemRandom);

t.test('sealed text opens with the same context and key only', (t) => {
  const sealed = key.seal('text', ['name', 'a']);
  t.equal(key.open(sealed, ['name', 'a']), 'text');
  for (const context of [['name', 'b'], ['namea'], ['name', 'a', ''], ['', 'name', 'a'], []])
    t.equal(key.open(sealed, context), undefined);
  t.equal(createSealingKey(sealingKey(2), systemRandom).open(sealed, ['name', 'a']), undefined);
  t.end();
});

t.test('bytes that the key did not seal do not open', (t) => {
  for (let length = 0; length < 64; length += 1) t.equal(key.open(Buffer.alloc(length, 1), []), undefined);
  t.end();
});

t.test('a MAC is valid only for its purpose and its parts', (t) => {
  const mac = key.mac('epoch', ['id', '1']);
  t.equal(key.verify(mac, 'epoch', ['id', '1']), true);
  t.equal(key.verify(mac, 'tag', ['id', '1']), false);
  t.equal(key.verify(mac, 'epoch', ['id1']), false);
  t.equal(key.verify('', 'epoch', ['id', '1']), false);
  t.end();
});
