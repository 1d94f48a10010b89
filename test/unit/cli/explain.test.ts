/** `stonegate explain` at a server that refuses it. */
import { join } from 'node:path';
import t from 'tap';
import { explain } from '../../../src/cli/explain.ts';
import { printedBy } from '../../support/printed-io.ts';
import { startRecordedServer } from '../../support/recorded-server.ts';

t.test('a user without the right to explain learns what they can do', async (t) => {
  const body = { kind: 'Status', status: 'Failure', reason: 'Forbidden', message: 'no', code: 403 };
  const { url } = await startRecordedServer(t, () => ({ status: 403, body }));
  const token = join(t.testdir({ token: 'the-token' }), 'token');
  const words = ['get', 'pods', '-n', 'web', '--server', url, '--admin-token-file', token];
  const command = (argv: readonly string[], io: Parameters<typeof explain>[1]) =>
    explain(argv, io, () => Promise.reject(new Error('nothing is explained here')));
  const { code, stderr } = await printedBy(command, words);
  t.equal(code, 1);
  t.match(stderr, /ask one to explain the request/);
  t.match(stderr, /stonegate access/);
});
