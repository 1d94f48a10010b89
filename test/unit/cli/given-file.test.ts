/** A token read from a file; other content of the file is never shown. */
import { join } from 'node:path';
import t from 'tap';
import { readGivenToken } from '../../../src/cli/given-file.ts';

t.test('blank space around a token is ignored', async (t) => {
  const folder = t.testdir({ token: ' abc.def~1\n\n' });
  t.equal(await readGivenToken('--token-file', join(folder, 'token')), 'abc.def~1');
});

const NO_TOKENS: Readonly<Record<string, string | Buffer>> = {
  'a private key': '-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n',
  'bytes that are not text': Buffer.from([0x68, 0x75, 0x73, 0x68, 0x00, 0xff]),
};
for (const [what, content] of Object.entries(NO_TOKENS))
  t.test(`${what}: the file is refused, and the error does not quote its content`, async (t) => {
    const file = join(t.testdir({ it: content }), 'it');
    const message = /^--token-file: (?!.*hush).* holds no token$/;
    await t.rejects(readGivenToken('--token-file', file), { message });
  });
