import t from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import { ACME, createFakePortal, type FakeBrowser, headerOf } from '../../support/portal.ts';

const CALLBACK = '/login/callback/acme?code=the-code&state=the-state';
const OIDC = '__Host-stonegate-oidc';

async function begin(browser: FakeBrowser, next = '/'): Promise<string | undefined> {
  return headerOf(
    await browser.get(`/login/oidc?provider=${ACME}&next=${encodeURIComponent(next)}`),
    'location',
  );
}

t.test('the browser is sent to the issuer, and comes back signed in', async (t) => {
  const browser = createFakePortal().browser();
  const location = await begin(browser, '/#kubectl');
  t.match(location, 'redirect_uri=https%3A%2F%2Flogin.example.com%2Flogin%2Fcallback%2Facme');
  const answer = await browser.get(CALLBACK);
  t.equal(answer.status, 303);
  t.equal(headerOf(answer, 'location'), '/#kubectl');
  t.same([...browser.cookies.keys()], ['__Host-stonegate'], 'nothing of the way is left');
  t.match((await browser.get('/')).text, 'signed in with Acme');
});

t.test('a wish to be sent elsewhere afterwards is not granted', async (t) => {
  const browser = createFakePortal().browser();
  await begin(browser, '//evil.com');
  t.equal(headerOf(await browser.get(CALLBACK), 'location'), '/');
});

t.test('what has to be remembered is sealed in the cookie, and cannot be read or made up', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await begin(browser);
  const cookie = browser.cookies.get(OIDC) ?? '';
  t.notMatch(Buffer.from(cookie, 'base64url').toString('latin1'), /the-(state|nonce|verifier)/);
  const forged = Buffer.from(
    JSON.stringify({ state: 'the-state', callback: '/login/callback/acme' }),
  ).toString('base64url');
  for (const value of [forged, `${cookie.slice(0, -2)}AA`, '', 'x']) {
    browser.cookies.set(OIDC, value);
    t.equal((await browser.get(CALLBACK)).status, 400);
  }
});

t.test('an answer that this browser did not ask for is refused', async (t) => {
  const portal = createFakePortal();
  const [alice, mallory] = [portal.browser(), portal.browser()];
  await begin(mallory);
  const answer = await alice.get(CALLBACK);
  t.equal(answer.status, 400);
  t.match(answer.text, 'This sign-in was not begun here');
  t.notOk(alice.cookies.has('__Host-stonegate'));
});

t.test('an answer with another state is refused, and none of its words are shown', async (t) => {
  const browser = createFakePortal().browser();
  await begin(browser);
  for (const query of [
    'code=c&state=another',
    'code=c',
    'error=access_denied&error_description=Call+0800+now&state=another',
    'error=access_denied&error_description=Call+0800+now',
  ]) {
    const answer = await browser.get(`/login/callback/acme?${query}`);
    t.equal(answer.status, 400, query);
    t.notMatch(answer.text, '0800');
  }
});

t.test('who took too long at the issuer begins again', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await begin(browser);
  portal.clock.advance(600_000);
  t.equal((await browser.get(CALLBACK)).status, 400);
});

t.test('an issuer that refuses is quoted, as text', async (t) => {
  const portal = createFakePortal();
  portal.world.oidc = { refused: 'the login was refused (access_denied: <b>no</b>)' };
  const browser = portal.browser();
  await begin(browser);
  const answer = await browser.get(CALLBACK);
  t.equal(answer.status, 403);
  t.match(answer.text, 'Acme did not sign you in');
  t.match(answer.text, 'access_denied: &lt;b&gt;no&lt;/b&gt;');
  t.notOk(browser.cookies.has(OIDC), 'and the sign-in is over');
});

t.test('who comes back too often waits, and the issuer is not asked', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await begin(browser);
  portal.world.limited = 'source';
  portal.world.oidc = new Error('was asked');
  const answer = await browser.get(CALLBACK);
  t.equal(answer.status, 429);
  t.equal(headerOf(answer, 'retry-after'), '60');
});

t.test('an issuer that cannot be asked is a page to try again', async (t) => {
  const portal = createFakePortal();
  portal.world.oidc = new StatusError('IssuerUnavailable', 'the issuer cannot be asked');
  const browser = portal.browser();
  await begin(browser);
  const answer = await browser.get(CALLBACK);
  t.equal(answer.status, 503);
  t.match(answer.text, 'Try again in a minute');
});

t.test('an issuer that is not configured is not there', async (t) => {
  const browser = createFakePortal().browser();
  for (const provider of ['', 'another', 'constructor'])
    t.equal((await browser.get(`/login/oidc?provider=${provider}`)).status, 404);
});

t.test('a token that the API does not accept signs nobody in', async (t) => {
  const portal = createFakePortal();
  portal.world.identity = new StatusError('GroupsOverflow', 'your groups do not fit into the token');
  const browser = portal.browser();
  await begin(browser);
  const answer = await browser.get(CALLBACK);
  t.equal(answer.status, 403);
  t.match(answer.text, 'your groups do not fit into the token');
  t.notOk(browser.cookies.has('__Host-stonegate'));
});
