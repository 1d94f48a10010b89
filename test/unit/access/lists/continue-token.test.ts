/** Continue tokens that Stonegate makes. */
import fc from 'fast-check';
import t from 'tap';
import {
  type ContinueScope,
  openContinue,
  sealContinue,
} from '../../../../src/access/lists/continue-token.ts';
import { createSealingKey } from '../../../../src/cache/sealing-key.ts';
import { systemRandom } from '../../../../src/lib/random.ts';

const sealer = createSealingKey(Buffer.alloc(32, 1), systemRandom);
const SCOPE: ContinueScope = {
  kind: 'all-namespaces',
  user: 'alice',
  path: '/api/v1/pods',
  selection: ['', ''],
};
const token = sealContinue(sealer, SCOPE, { namespace: 'a' });

t.test('a token opens for what it was made for', async (t) => {
  t.same(openContinue(sealer, SCOPE, token), { namespace: 'a' });
  t.notMatch(Buffer.from(token, 'base64url').toString('latin1'), /namespace/, 'it tells nothing');
});

t.test('D025 a token of another user, path, selector, kind or key is refused', async (t) => {
  for (const other of [
    { ...SCOPE, user: 'bob' },
    { ...SCOPE, path: '/api/v1/secrets' },
    { ...SCOPE, selection: ['app=x', ''] },
    { ...SCOPE, selection: ['', ''], kind: 'namespaces' },
  ])
    t.throws(() => openContinue(sealer, other, token), { code: 'RequestMalformed', http: 400 });
  const key = createSealingKey(Buffer.alloc(32, 2), systemRandom);
  t.throws(() => openContinue(key, SCOPE, token), { code: 'RequestMalformed' });
});

t.test('D025 a token with any character changed is refused, and so is any other text', async (t) => {
  const text = fc.oneof(fc.string(), fc.base64String(), fc.string({ unit: 'binary' }));
  fc.assert(
    fc.property(text, (given) => {
      t.throws(() => openContinue(sealer, SCOPE, given), { code: 'RequestMalformed' });
    }),
  );
  for (let at = 0; at < token.length; at += 1)
    for (const letter of ['A', 'B', '_']) {
      const changed = `${token.slice(0, at)}${letter}${token.slice(at + 1)}`;
      if (changed === token) continue;
      t.throws(() => openContinue(sealer, SCOPE, changed), { code: 'RequestMalformed' });
    }
});
