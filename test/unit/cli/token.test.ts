/** `stonegate token` without a server: usage errors, and the requests that it sends. */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { token } from '../../../src/cli/token.ts';
import { askCommand } from '../../support/ask-command.ts';
import { eachRow } from '../../support/rows.ts';

const made = (kind: string) => ({
  kind,
  apiVersion: 'stonegate.dev/v1alpha1',
  metadata: { name: 'k3b9x0qz', uid: 'u', creationTimestamp: '2026-11-26T09:00:00Z' },
  spec: {},
  status: { token: 'the-secret', state: 'active', owner: 'acme:alice', expirationTimestamp: 'THEN' },
});

const run = (t: Test, words: readonly string[], kind = 'AccessToken') =>
  askCommand(t, token, words, () => ({ status: 201, body: made(kind) }));

t.test(
  'days, hours and minutes are sent as seconds, and options that are not given are not sent',
  async (t) => {
    const days = await run(t, ['create', '--scope', 'read', '--expires', '30d']);
    t.match(days, { code: 0, stdout: 'the-secret\n' });
    t.strictSame(days.asked[0]?.body, {
      kind: 'AccessToken',
      apiVersion: 'stonegate.dev/v1alpha1',
      spec: { scopes: ['read'], expirationSeconds: 2_592_000 },
    });
    const rules = join(t.testdir({ list: '- verbs: [get]\n' }), 'list');
    await t.test('with rules', async (t) => {
      const { asked } = await run(t, ['create', '--rules', rules, '--expires', '1h30m']);
      const spec = { scopes: [], rules: [{ verbs: ['get'] }], expirationSeconds: 5_400 };
      t.match(asked, [{ body: { spec } }]);
    });
  },
);

t.test('the overlap of a rotation is the one given, or else the default of the server', async (t) => {
  const rotated = await run(t, ['rotate', 'k3b9x0qz'], 'AccessTokenRotation');
  t.match(rotated, { code: 0, stdout: 'the-secret\n', stderr: /until THEN/ });
  t.match(rotated.asked, [{ body: { spec: { name: 'k3b9x0qz', overlapSeconds: undefined } } }]);
  const { asked } = await run(t, ['rotate', 'k3b9x0qz', '--overlap', '1m'], 'AccessTokenRotation');
  t.match(asked, [{ body: { spec: { overlapSeconds: 60 } } }]);
});

t.test('a secret that no server makes is not printed', async (t) => {
  for (const secret of ['', 'a\u001b[2Jb', 'a\u0085b', 'a\nb', 'a b']) {
    const body = { ...made('AccessToken'), status: { ...made('').status, token: secret } };
    const words = ['create', '--scope', 'read', '--expires', '1h'];
    const printed = await askCommand(t, token, words, () => ({ status: 201, body }));
    t.match(printed, { code: 1, stdout: '', stderr: 'stonegate token: the server sent no secret\n' });
  }
});

t.test('a usage error is reported before any request is sent', async (t) => {
  await eachRow(
    `
    create --scope read --expires soon | --expires is a duration such as
    create --rules ${import.meta.filename} --expires 1h | YAML
    rotate | which token?
    revoke | which tokens?
    revoke k3b9x0qz sgt_k3b9x0qzSECRET | the token itself, a secret; its ID is k3b9x0qz
    rotate sgt_k3b9x0qzSECRET | its ID is k3b9x0qz
    revoke sgt_ | 8 letters and digits`,
    async (line, stderr) => t.match(await run(t, line.split(' ')), { stdout: '', stderr, asked: [] }, line),
  );
});

t.test('a refusal for another reason than the missing life is told alone', async (t) => {
  const refuse = (message: string) =>
    askCommand(t, token, ['create', '--scope', 'read'], () => ({
      status: 422,
      body: { kind: 'Status', status: 'Failure', message, code: 422 },
    }));
  t.match(await refuse('spec.expirationSeconds: Required value'), {
    code: 2,
    stderr: /--expires is required/,
  });
  const other = await refuse('spec.scopes[0]: Invalid value: "read"');
  t.match(other, { code: 1, stderr: /spec\.scopes/ });
  t.notMatch(other.stderr, /--expires/);
});
