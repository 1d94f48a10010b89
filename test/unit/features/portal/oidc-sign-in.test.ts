import t from 'tap';
import { ACME, createFakePortal, type FakeBrowser, headerOf } from '../../../support/portal.ts';
import { tampered } from '../../../support/tampered.ts';

const CALLBACK = '/login/callback/acme?code=the-code&state=the-state';
const OIDC = '__Host-stonegate-oidc';

async function begin(browser: FakeBrowser, next = '/'): Promise<string | undefined> {
  return headerOf(
    await browser.get(`/login/oidc?provider=${ACME}&next=${encodeURIComponent(next)}`),
    'location',
  );
}

t.test('the browser is redirected to the issuer, and signed in when it returns', async (t) => {
  const browser = createFakePortal().browser();
  const location = await begin(browser, '/#kubectl');
  t.match(location, 'redirect_uri=https%3A%2F%2Flogin.example.com%2Flogin%2Fcallback%2Facme');
  const response = await browser.get(CALLBACK);
  t.equal(response.status, 303);
  t.equal(headerOf(response, 'location'), '/#kubectl');
  t.same([...browser.cookies.keys()], ['__Host-stonegate'], 'no other cookie of the sign-in is left');
  t.match(await browser.text('/'), 'signed in with Acme');
});

t.test(
  'the state of an authorization request is sealed in the cookie: it can be neither read nor forged',
  async (t) => {
    const portal = createFakePortal();
    const browser = portal.browser();
    await begin(browser);
    const cookie = browser.cookies.get(OIDC) ?? '';
    t.notMatch(Buffer.from(cookie, 'base64url').toString('latin1'), /the-(state|nonce|verifier)/);
    const forged = Buffer.from(
      JSON.stringify({ state: 'the-state', callback: '/login/callback/acme' }),
    ).toString('base64url');
    for (const value of [forged, tampered(cookie), '', 'x']) {
      browser.cookies.set(OIDC, value);
      t.equal(await browser.status(CALLBACK), 400);
    }
  },
);

t.test('an authorization response that this browser did not request is refused', async (t) => {
  const portal = createFakePortal();
  const [alice, mallory] = [portal.browser(), portal.browser()];
  await begin(mallory);
  const response = await alice.get(CALLBACK);
  t.equal(response.status, 400);
  t.match(response.text, 'This sign-in was started in another browser');
  t.notOk(alice.cookies.has('__Host-stonegate'));
});

t.test('an authorization response with another state is refused, and its text is not shown', async (t) => {
  const browser = createFakePortal().browser();
  await begin(browser);
  for (const query of [
    'code=c&state=another',
    'code=c',
    'error=access_denied&error_description=Call+0800+now&state=another',
    'error=access_denied&error_description=Call+0800+now',
  ]) {
    const response = await browser.get(`/login/callback/acme?${query}`);
    t.equal(response.status, 400, query);
    t.notMatch(response.text, '0800');
  }
});

t.test('a sign-in that took too long at the issuer has to start again', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await begin(browser);
  portal.clock.advance(600_000);
  t.equal(await browser.status(CALLBACK), 400);
});

t.test(
  'too many authorization responses from one address are refused before the issuer is called',
  async (t) => {
    const portal = createFakePortal();
    const browser = portal.browser();
    await begin(browser);
    portal.world.limited = 'source';
    portal.world.oidc = new Error('was asked');
    const response = await browser.get(CALLBACK);
    t.equal(response.status, 429);
    t.equal(headerOf(response, 'retry-after'), '60');
  },
);
