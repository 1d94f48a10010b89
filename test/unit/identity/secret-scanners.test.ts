/** The expression in docs/tokens.md with which scanners find leaked access tokens. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { idOfSecret, newSecret } from '../../../src/identity/secret-token.ts';
import { systemRandom } from '../../../src/lib/random.ts';

const [, expression = ''] = /^(\\bsgt_.*)$/m.exec(readFileSync('docs/tokens.md', 'utf8')) ?? [];
const pattern = new RegExp(expression);
const secrets = Array.from({ length: 10_000 }, () => newSecret('sgt_', systemRandom).text);

t.test('D434 the expression finds every token, and the checksum tells it from similar text', async (t) => {
  t.not(expression, '');
  t.same(
    secrets.filter((text) => !pattern.test(`Authorization: Bearer ${text}\n`)),
    [],
  );
  // Each ends in the six characters of another secret, which are a valid checksum with a chance of 1 in 2^32.
  const similar = secrets.map((text, at) => text.slice(0, -6) + (secrets.at(at - 1) ?? '').slice(-6));
  t.same(
    similar.filter((text) => !pattern.test(text)),
    [],
  );
  t.ok(similar.filter((text) => idOfSecret('sgt_', text) !== undefined).length <= 1);
});
