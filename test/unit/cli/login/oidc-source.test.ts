import { parseArgs } from 'node:util';
import t, { type Test } from 'tap';
import { LOGIN_OPTIONS } from '../../../../src/cli/login/login-options.ts';
import { readOidcFlags } from '../../../../src/cli/login/oidc-settings.ts';
import { createOidcSource } from '../../../../src/cli/login/oidc-source.ts';
import { createFakeTerminal } from '../../../support/fake-terminal.ts';
import { type ScriptedProvider, startScriptedProvider } from '../../../support/oidc/scripted-provider.ts';
import { eachRow } from '../../../support/rows.ts';

const NEEDED = ['--issuer-url', 'https://login.example.com', '--client-id', 'kubernetes'];

const parse = (...words: string[]) => parseArgs({ args: words, options: LOGIN_OPTIONS }).values;
const read = (...words: string[]) => readOidcFlags(parse(...NEEDED, ...words), { HOME: '/home/carol' });

async function startProvider(t: Test, metadata: Record<string, unknown> = {}) {
  const provider = await startScriptedProvider();
  t.teardown(() => provider.close());
  Object.assign(provider.metadata, metadata);
  return provider;
}

const sourceOf = ({ issuer }: ScriptedProvider, ...words: string[]) =>
  createOidcSource(parse('--issuer-url', issuer, '--client-id', 'kubernetes', ...words), {});

t.test('the options in a kubeconfig are read', async (t) => {
  t.match(read(), {
    browser: true,
    deviceCode: false,
    redirectURI: new URL('http://127.0.0.1/'),
    ports: [0],
  });
  t.match(
    read(
      ...['--client-secret-file', '~/secret', '--scope', 'groups', '--scope', 'a b,c'],
      ...['--extra-param', 'access_type=offline', '--extra-param', 'x=a=b', '--device-code', '--no-browser'],
      ...['--listen-port', '8000', '--listen-port', '18000', '--redirect-uri', 'http://localhost/callback'],
    ),
    {
      clientSecretFile: '/home/carol/secret',
      scopes: ['groups', 'a', 'b', 'c'],
      extraParameters: { access_type: 'offline', x: 'a=b' },
      deviceCode: true,
      browser: false,
      redirectURI: new URL('http://localhost/callback'),
      ports: [8000, 18000],
    },
  );
});

t.test('invalid options are refused', async (t) => {
  await eachRow(
    `
    --issuer-url http://login.example.com | ^--issuer-url must be https
    --issuer-url https://a:b@login.example.com | ^--issuer-url must be without user
    --listen-port 65536 | ^--listen-port is no port: "65536"
    --extra-param offline | ^--extra-param must be NAME=VALUE
    --extra-param redirect_uri=https://evil.example | ^--extra-param cannot set redirect_uri
    --redirect-uri https://evil.example/ | ^--redirect-uri must be http://127
    --redirect-uri http://localhost:8000/ | ^the port of --redirect-uri is said with`,
    (words, message) => t.throws(() => read(...words.split(' ')), { message: new RegExp(message) }, words),
  );
  t.throws(() => createOidcSource({}, {}), { message: '--issuer-url is required with --oidc' });
});

t.test('the identity of a token depends on who logs in, not on how', async (t) => {
  const identity = (...words: string[]) => createOidcSource(parse(...NEEDED, ...words), {}).identity;
  const plain = identity();
  t.same(plain, ['oidc', 'https://login.example.com', 'kubernetes', '']);
  t.same(identity('--scope', 'b', '--scope', 'a'), identity('--scope', 'a', '--scope', 'b'));
  t.not(
    identity('--extra-param', 'login_hint=carol').join(),
    plain.join(),
    'a login hint is part of the identity',
  );
  const shown = ['--no-browser', '--device-code', '--listen-port', '1', '--client-secret-file', '/secret'];
  t.same(identity(...shown), plain, 'the way of logging in is not part of the identity');
});

t.test('without a browser, and with a provider without device codes, the address is printed', async (t) => {
  for (const [metadata, words] of [
    [{ device_authorization_endpoint: undefined }, []],
    [{}, ['--no-browser']],
  ] as const) {
    const terminal = createFakeTerminal({ onSay: () => terminal.interrupt() });
    const login = sourceOf(await startProvider(t, metadata), ...words).obtain(terminal, undefined);
    await t.rejects(login, { message: 'the login was cancelled' });
    t.match(terminal.said, [
      /^To log in, open this page in a browser on this computer: http:\/\/127\.0\.0\.1:\d+\/auth\?/,
    ]);
  }
});

t.test('a redirect that belongs to another login is refused, and the user is told', async (t) => {
  const provider = await startProvider(t);
  const terminal = createFakeTerminal({
    browser: async (url) => {
      const asked = new URL(url).searchParams;
      const back = (state: string) => fetch(`${asked.get('redirect_uri')}?code=c&state=${state}`);
      t.equal((await back('guessed')).status, 400);
      const nonce = asked.get('nonce');
      const body = { access_token: 'a', token_type: 'Bearer', id_token: provider.idToken({ nonce }) };
      provider.tokenAnswers = [{ body }];
      await back(asked.get('state') ?? '');
    },
  });
  t.match(await sourceOf(provider).obtain(terminal, undefined), { token: /^ey/ });
  t.ok(terminal.said.includes('Refused a redirect that does not belong to this login.'));
});

t.test('a renewed token without the groups of the last one is used, and the user is told', async (t) => {
  const provider = await startProvider(t);
  const groups = ['dev'];
  for (const [before, after, told] of [
    [{ groups }, {}, 1],
    [{ groups }, { groups: [] }, 0],
    [{}, {}, 0],
  ] as const) {
    const renewed = provider.idToken(after);
    provider.tokenAnswers = [{ body: { access_token: 'a', token_type: 'Bearer', id_token: renewed } }];
    const terminal = createFakeTerminal({ browser: () => t.fail('a browser was opened') });
    const previous = { token: provider.idToken(before), expiresAt: 0, refreshToken: 'r' };
    t.match(await sourceOf(provider).obtain(terminal, previous), { token: renewed });
    t.equal(terminal.said.filter((line) => /renewed token has no "groups"/.test(line)).length, told);
  }
});

t.test('no browser is opened if the provider no longer accepts the client', async (t) => {
  const provider = await startProvider(t);
  provider.tokenAnswers = [{ status: 401, body: { error: 'invalid_client' } }];
  const terminal = createFakeTerminal({ browser: () => t.fail('a browser was opened') });
  const previous = { token: provider.idToken(), expiresAt: 0, refreshToken: 'r' };
  await t.rejects(sourceOf(provider).obtain(terminal, previous), { message: /check its id and its secret/ });
});
