import t, { type Test } from 'tap';
import { createOIDCLogin, type OIDCLoginOptions } from '../../../../src/features/portal/oidc-portal.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { startLoopbackServer } from '../../../support/oidc/loopback-server.ts';
import { startOidcProvider } from '../../../support/oidc/provider.ts';
import { browse, type LoginUser } from '../../../support/oidc/scripted-browser.ts';
import { startSigningIssuer } from '../../../support/oidc/signing-issuer.ts';

const CAROL = { user: 'carol', password: 'carol-pass' };

/** A provider, the portal's client there, and a page for the browser to come back to. */
async function setUp(t: Test, changes: Partial<OIDCLoginOptions> = {}) {
  const site = await startLoopbackServer((_request, response) => response.end('back'));
  const redirectURI = `${site.origin}/login/callback/acme`;
  const client = { clientID: 'portal', clientSecret: 's3cret' };
  const provider = await startOidcProvider({
    users: { carol: { password: 'carol-pass', claims: { email: 'carol@acme.example' } } },
    sites: [{ ...client, redirectURI }],
  });
  const login = createOIDCLogin({
    issuer: provider.issuer,
    ...client,
    scopes: ['email'],
    clock: systemClock,
    ...changes,
  });
  t.teardown(() => Promise.all([login.close(), provider.close(), site.down()]));
  const walk = async (user: LoginUser) => {
    const { location, transaction } = await login.begin(redirectURI);
    return { callback: new URL((await browse(location, user)).url), transaction, location };
  };
  return { provider, login, walk, redirectURI };
}

t.test('a code from another browser’s sign-in is refused', async (t) => {
  const { login, walk } = await setUp(t);
  const [mallory, alice] = [await walk(CAROL), await walk(CAROL)];
  const planted = { ...alice.transaction, state: mallory.transaction.state };
  t.match(await login.finish(mallory.callback, planted), { refused: /invalid_grant/ });
});

t.test('a response with another state, or an ID token with another nonce, is refused', async (t) => {
  const { login, walk } = await setUp(t);
  for (const change of [{ state: 'another' }, { nonce: 'another' }]) {
    const { callback, transaction } = await walk(CAROL);
    await t.rejects(login.finish(callback, { ...transaction, ...change }), { code: 'IssuerUnavailable' });
  }
});

t.test('a wrong client secret is reported', async (t) => {
  const { login, walk } = await setUp(t, { clientSecret: 'wrong' });
  const { callback, transaction } = await walk(CAROL);
  t.match(await login.finish(callback, transaction), { refused: /invalid_client/ });
});

t.test('the issuer’s document is read once an hour, however many sign-ins begin at once', async (t) => {
  const issuer = await startSigningIssuer();
  const clock = createFakeClock();
  const login = createOIDCLogin({ issuer: issuer.url, clientID: 'portal', scopes: [], clock });
  t.teardown(() => Promise.all([login.close(), issuer.down()]));
  const back = 'https://login.example.com/login/callback/acme';
  await Promise.all([login.begin(back), login.begin(back)]);
  await login.begin(back);
  t.equal(issuer.requests.discovery, 1);
  clock.advance(3_600_000);
  await login.begin(back);
  t.equal(issuer.requests.discovery, 2);
});
