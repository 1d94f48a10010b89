/**
 * `stonegate login --oidc` against a real OpenID provider: the user is a script that follows redirects, keeps
 * cookies and fills in forms.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import t, { type Test } from 'tap';
import { createOidcSource } from '../../src/cli/login/oidc-source.ts';
import { eventually } from '../support/eventually.ts';
import { createFakeTerminal } from '../support/fake-terminal.ts';
import { type OidcProviderOptions, startOidcProvider } from '../support/oidc/provider.ts';
import { browse, type LoginUser, type Page } from '../support/oidc/scripted-browser.ts';

const CAROL = { user: 'carol', password: 'carols password' };
const users = {
  carol: { password: CAROL.password, claims: { email: 'carol@acme.com', groups: ['developers'] } },
};

async function scene(t: Test, options: Partial<OidcProviderOptions> = {}) {
  const provider = await startOidcProvider({ users, ...options });
  t.teardown(() => provider.close());
  return {
    provider,
    source: (values: Parameters<typeof createOidcSource>[0] = {}) =>
      createOidcSource(
        {
          'issuer-url': provider.issuer,
          'client-id': provider.clientID,
          'extra-param': ['prompt=consent'],
          ...values,
        },
        {},
      ),
  };
}

/** A terminal whose browser is operated by `user`; `page` is the last page. */
function withBrowser(t: Test, user: LoginUser) {
  const ended: Promise<Page>[] = [];
  t.teardown(() => Promise.allSettled(ended));
  const terminal = createFakeTerminal({ browser: (url) => ended.push(browse(url, user)) });
  const page = async () => (await ended[0]) ?? { url: '', status: 0, text: 'no browser was opened' };
  return Object.assign(terminal, { page });
}

t.test('the authorization request has PKCE, state and nonce', async (t) => {
  const { source } = await scene(t);
  const terminal = withBrowser(t, CAROL);
  await source().obtain(terminal, undefined);
  const asked = Object.fromEntries(new URL(terminal.opened[0] ?? '').searchParams);
  t.match(asked, {
    response_type: 'code',
    scope: 'openid profile email offline_access',
    code_challenge_method: 'S256',
    code_challenge: /^[\w-]{43}$/,
    state: /^[\w-]{43}$/,
    nonce: /^[\w-]{43}$/,
    redirect_uri: /^http:\/\/127\.0\.0\.1:\d+\/$/,
    prompt: 'consent',
  });
});

t.test('a client with a secret can log in', async (t) => {
  const { source } = await scene(t, { clientSecret: 'of the client' });
  const file = join(t.testdir(), 'secret');
  await writeFile(file, 'of the client\n');
  const { token } = await source({ 'client-secret-file': file }).obtain(withBrowser(t, CAROL), undefined);
  t.match(decodeJwt(token), { sub: 'carol' });
});

t.test('a login that no user completes times out', async (t) => {
  const { source } = await scene(t);
  const terminal = createFakeTerminal({ browser: () => undefined });
  const login = source().obtain(terminal, undefined);
  const ended = t.rejects(login, { message: 'no login within five minutes' });
  await eventually(() => terminal.said.length === 1);
  terminal.clock.advance(5 * 60_000);
  await ended;
});

t.test('Ctrl-C while the browser is open cancels the login', async (t) => {
  const { source } = await scene(t);
  const terminal = createFakeTerminal({ browser: () => terminal.interrupt() });
  await t.rejects(source().obtain(terminal, undefined), { message: 'the login was cancelled' });
});

t.test('--device-code opens no browser', async (t) => {
  const { source } = await scene(t);
  const terminal = withBrowser(t, CAROL);
  const login = source({ 'device-code': true }).obtain(terminal, undefined);
  await eventually(() => terminal.said.length === 3);
  t.same(terminal.opened, []);
  terminal.interrupt();
  await t.rejects(login);
});
