/** `stonegate token` as far as no server is needed: what is wrong on the command line, and what is sent. */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { token } from '../../../src/cli/token.ts';
import { printedBy } from '../../support/printed-io.ts';
import { startRecordedServer } from '../../support/recorded-server.ts';

const made = (kind: string) => ({
  kind,
  apiVersion: 'stonegate.dev/v1alpha1',
  metadata: { name: 'k3b9x0qz', uid: 'u', creationTimestamp: '2026-11-26T09:00:00Z' },
  spec: {},
  status: { token: 'the-secret', state: 'active', owner: 'acme:alice', expirationTimestamp: 'THEN' },
});

async function setUp(t: Test, kind = 'AccessToken') {
  const server = await startRecordedServer(t, () => ({ status: 201, body: made(kind) }));
  const folder = t.testdir({ token: 'the-token', map: 'rules: []\n', list: '- verbs: [get]\n' });
  const common = ['--server', server.url, '--token-file', join(folder, 'token')];
  return {
    asked: server.asked,
    folder,
    run: (...words: readonly string[]) => printedBy(token, [...words, ...common], {}),
  };
}

t.test('days, hours and minutes are sent as seconds, and what is not given is not sent', async (t) => {
  const { run, asked, folder } = await setUp(t);
  const rules = ['--rules', join(folder, 'list')];
  t.match(await run('create', '--scope', 'read', '--expires', '30d'), { code: 0, stdout: 'the-secret\n' });
  await run('create', ...rules, '--expires', '1h30m');
  t.same(
    asked.map(({ body }) => body),
    [
      { scopes: ['read'], expirationSeconds: 2_592_000 },
      { scopes: [], rules: [{ verbs: ['get'] }], expirationSeconds: 5_400 },
    ].map((spec) => ({ kind: 'AccessToken', apiVersion: 'stonegate.dev/v1alpha1', spec })),
  );
});

t.test('the overlap of a rotation is the server’s, or the one given', async (t) => {
  const { run, asked } = await setUp(t, 'AccessTokenRotation');
  t.match(await run('rotate', 'k3b9x0qz'), { code: 0, stdout: 'the-secret\n', stderr: /until THEN/ });
  await run('rotate', 'k3b9x0qz', '--overlap', '1m');
  t.match(asked, [
    { body: { spec: { name: 'k3b9x0qz' } } },
    { body: { spec: { name: 'k3b9x0qz', overlapSeconds: 60 } } },
  ]);
});

t.test('wrong usage is refused before anything is sent', async (t) => {
  const { run, asked, folder } = await setUp(t);
  for (const [words, mistake] of [
    [['create', '--scope', 'read', '--expires', 'soon'], /--expires is a duration such as/],
    [['create', '--rules', join(folder, 'map'), '--expires', '1h'], /--rules wants a list/],
    [['rotate'], /which token\?/],
    [['revoke'], /which tokens\?/],
  ] as const)
    t.match(await run(...words), { code: 2, stdout: '', stderr: mistake }, words.join(' '));
  t.same(asked, []);
});
