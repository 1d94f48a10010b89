/** A blank too many behind `kubectl --as` never makes a command run with the caller's own rights. */
import t, { type Test } from 'tap';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { fails, startForKubectl, succeeds } from '../support/kubectl-users.ts';

const WIRES = { 'HTTP/2': {}, 'HTTP/1.1': { DISABLE_HTTP2: '1' } };
const PADDED = ['reader ', ' reader', 'reader\t', ' \t reader \t '];
const GET = ['get', 'cm', 'settings', '-o', 'name'];

const binaries = findKubectls();
if (binaries.length === 0) t.test('kubectl --as with blanks', { skip: NO_KUBECTL }, async () => {});
for (const binary of binaries)
  for (const [wire, environment] of Object.entries(WIRES))
    t.test(`${binary.split('/').at(-1)} over ${wire}`, (t) => deletes(t, binary, environment));

async function deletes(t: Test, binary: string, environment: Readonly<Record<string, string>>) {
  const { as, stonegate } = await startForKubectl(t);
  const alice = as(binary, stonegate.keystoneToken('alice'), environment);
  await succeeds(t, alice, ['auth', 'can-i', 'delete', 'cm']);
  for (const name of PADDED)
    t.match(
      await fails(t, alice, ['delete', 'cm', 'settings', '--as', name]),
      /\(Forbidden\).*User "acme:reader" cannot/,
      `as ${JSON.stringify(name)}`,
    );
  t.match(await fails(t, alice, ['delete', 'cm', 'settings', '--as', 'reader', '--as-group', ' ']), /empty/);
  t.equal(await succeeds(t, alice, GET), 'configmap/settings\n', 'it is still there');
  const complaint = await fails(t, alice, ['delete', 'cm', 'settings', '--as', 'rea\u0001der']);
  t.match(complaint, /invalid header field value/, 'Go sends no control characters');
}
