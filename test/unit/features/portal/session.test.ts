import t from 'tap';
import type { Identity } from '../../../../src/tenancy/identity.ts';
import { createFakePortal, headerOf, keystoneIdentity, signedIn } from '../../../support/portal.ts';
import { PAGE_SOURCES } from '../../../support/portal-pages.ts';

const SESSION = '__Host-stonegate';
const HOUR = 3_600_000;

t.test('a user without a session is redirected to the sign-in page', async (t) => {
  const access = { accessOf: async () => Promise.reject(new Error('not asked')) };
  const browser = createFakePortal({ access }).browser();
  for (const [path, target] of [
    ['/', '/login'],
    ['/kubeconfig', '/login?next=%2F%23kubectl'],
    ['/access', '/login?next=%2Faccess'],
  ] as const) {
    const response = await browser.get(path);
    t.equal(response.status, 303);
    t.equal(headerOf(response, 'location'), target);
  }
});

t.test('what a session makes has the time of its sign-in', async (t) => {
  const { tokens } = PAGE_SOURCES;
  const seen: (number | undefined)[] = [];
  const list = ({ signedInAt }: Identity) => {
    seen.push(signedInAt);
    return [];
  };
  const { portal, browser } = await signedIn({ ...PAGE_SOURCES, tokens: { ...tokens, list } });
  const signedInAt = portal.clock.now();
  portal.clock.advance(HOUR);
  await browser.get('/tokens');
  t.same(seen, [signedInAt]);
});

t.test('C183 a session that an attacker planted in the browser is ended by signing in', async (t) => {
  const portal = createFakePortal();
  const mallory = portal.browser();
  await mallory.signIn({ user: 'mallory' });
  const planted = mallory.cookies.get(SESSION) ?? '';
  const alice = portal.browser();
  alice.cookies.set(SESSION, planted);
  t.match(await alice.text('/login'), 'You are signed in as', 'the page shows the planted session');
  await alice.signIn();
  t.not(alice.cookies.get(SESSION), planted);
  t.equal(await alice.status('/'), 200);
  t.equal(await mallory.status('/'), 303, 'the planted session has ended');
});

t.test('C183 an invented session ID is never adopted', async (t) => {
  const browser = createFakePortal().browser();
  const invented = 'A'.repeat(43);
  browser.cookies.set(SESSION, invented);
  await browser.signIn();
  t.not(browser.cookies.get(SESSION), invented);
});

t.test('two session cookies count as none: an attacker may have set one', async (t) => {
  const { browser } = await signedIn();
  const headers = [['cookie', `${SESSION}=${'B'.repeat(43)}`] as const];
  t.equal(await browser.status('/', { headers }), 303);
});

t.test('C185 an expired form is refused, although the session is valid', async (t) => {
  const { portal, browser } = await signedIn();
  await browser.get('/');
  const token = browser.formToken;
  portal.clock.advance(HOUR);
  t.equal(await browser.status('/'), 200, 'the session is valid');
  const response = await browser.post('/logout', { token });
  t.equal(response.status, 403);
  t.equal(await browser.status('/'), 200, 'and stays valid');
});

t.test('a session ends after its lifetime, and the sign-in page says so', async (t) => {
  const { portal, browser } = await signedIn();
  portal.clock.advance(8 * HOUR - 1);
  t.equal(await browser.status('/'), 200);
  portal.clock.advance(1);
  const response = await browser.get('/');
  t.equal(headerOf(response, 'location'), '/login?notice=ended');
  t.match(await browser.text('/login?notice=ended'), 'Your session has ended. Sign in again.');
});

t.test('a session never outlives its credential', async (t) => {
  const portal = createFakePortal();
  portal.world.identity = keystoneIdentity(portal.clock.now() + HOUR);
  const browser = portal.browser();
  await browser.signIn();
  portal.clock.advance(HOUR);
  t.equal(await browser.status('/'), 303);
});

t.test('signing out ends the session on the server as well as the cookie', async (t) => {
  const { browser } = await signedIn();
  const stolen = browser.cookies.get(SESSION) ?? '';
  await browser.get('/');
  const response = await browser.submit('/logout', {});
  t.equal(headerOf(response, 'location'), '/login?notice=signed-out');
  t.notOk(browser.cookies.has(SESSION));
  browser.cookies.set(SESSION, stolen);
  t.equal(await browser.status('/'), 303);
});

t.test('if the session cannot be removed, the page says what that means', async (t) => {
  const { sessions } = createFakePortal();
  const { browser } = await signedIn({ sessions: { ...sessions, remove: async () => false } });
  await browser.get('/');
  const response = await browser.submit('/logout', {});
  t.equal(response.status, 503);
  t.match(response.text, 'signed out in this browser only');
  t.notOk(browser.cookies.has(SESSION));
});

t.test('a notice from the query is not shown', async (t) => {
  const browser = createFakePortal().browser();
  for (const notice of ['call+this+number', 'constructor', '__proto__'])
    t.notMatch(await browser.text(`/login?notice=${notice}`), 'class="notice');
});
