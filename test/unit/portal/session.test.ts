import t from 'tap';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { createFakePortal, headerOf, keystoneIdentity } from '../../support/portal.ts';

const SESSION = '__Host-stonegate';
const HOUR = 3_600_000;

t.test('whoever has not signed in is sent to sign in', async (t) => {
  const browser = createFakePortal().browser();
  for (const [path, target] of [
    ['/', '/login'],
    ['/kubeconfig', '/login?next=%2F%23kubectl'],
  ] as const) {
    const answer = await browser.get(path);
    t.equal(answer.status, 303);
    t.equal(headerOf(answer, 'location'), target);
  }
});

t.test('the session cookie is for this host, this site and HTTP alone, and says nothing', async (t) => {
  const answer = await createFakePortal().browser().signIn();
  const [cookie = ''] = answer.headers.filter(([name]) => name === 'Set-Cookie').map(([, value]) => value);
  t.match(cookie, /^__Host-stonegate=[A-Za-z0-9_-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax$/);
});

t.test('C183 a session planted in the browser does not survive signing in', async (t) => {
  const portal = createFakePortal();
  const mallory = portal.browser();
  await mallory.signIn({ user: 'mallory' });
  const planted = mallory.cookies.get(SESSION) ?? '';
  const alice = portal.browser();
  alice.cookies.set(SESSION, planted);
  t.match(
    (await alice.get('/login')).text,
    'You are signed in as',
    'the page says that somebody is signed in',
  );
  await alice.signIn();
  t.not(alice.cookies.get(SESSION), planted);
  t.equal((await alice.get('/')).status, 200);
  t.equal((await mallory.get('/')).status, 303, 'the planted one is worth nothing any more');
});

t.test('C183 an id that was made up is never taken for a new session', async (t) => {
  const browser = createFakePortal().browser();
  const madeUp = 'A'.repeat(43);
  browser.cookies.set(SESSION, madeUp);
  await browser.signIn();
  t.not(browser.cookies.get(SESSION), madeUp);
});

t.test('each signing in makes a new id', async (t) => {
  const browser = createFakePortal().browser();
  await browser.signIn();
  const first = browser.cookies.get(SESSION);
  await browser.signIn();
  t.not(browser.cookies.get(SESSION), first);
});

t.test('two cookies of that name are none: one of them is somebody else’s', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await browser.signIn();
  const headers = [['cookie', `${SESSION}=${'B'.repeat(43)}`] as const];
  t.equal((await browser.get('/', { headers })).status, 303);
});

t.test('C185 a form older than its own end is refused, though the session lives', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await browser.signIn();
  await browser.get('/');
  const token = browser.formToken;
  portal.clock.advance(HOUR);
  t.equal((await browser.get('/')).status, 200, 'the session lives');
  const answer = await browser.post('/logout', { token });
  t.equal(answer.status, 403);
  t.equal((await browser.get('/')).status, 200, 'and lives on');
});

t.test('C185 a sign-in form older than its own end is refused', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await browser.get('/login');
  portal.clock.advance(HOUR);
  const form = { user: 'alice', password: 'p', domain: 'acme', token: browser.formToken };
  t.equal((await browser.post('/login/keystone', form)).status, 403);
  t.same(portal.asked, []);
});

t.test('a session ends after its time, and the page to sign in at says so', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await browser.signIn();
  portal.clock.advance(8 * HOUR - 1);
  t.equal((await browser.get('/')).status, 200);
  portal.clock.advance(1);
  const answer = await browser.get('/');
  t.equal(headerOf(answer, 'location'), '/login?notice=ended');
  t.match((await browser.get('/login?notice=ended')).text, 'Your session has ended. Sign in again.');
});

t.test('a session never outlives the credential it was made with', async (t) => {
  const portal = createFakePortal();
  portal.world.identity = keystoneIdentity(portal.clock.now() + HOUR);
  const browser = portal.browser();
  await browser.signIn();
  portal.clock.advance(HOUR);
  t.equal((await browser.get('/')).status, 303);
});

t.test('signing out ends the session on the server, not only the cookie', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await browser.signIn();
  const kept = browser.cookies.get(SESSION) ?? '';
  await browser.get('/');
  const answer = await browser.post('/logout', { token: browser.formToken });
  t.equal(headerOf(answer, 'location'), '/login?notice=signed-out');
  t.notOk(browser.cookies.has(SESSION));
  browser.cookies.set(SESSION, kept);
  t.equal((await browser.get('/')).status, 303);
});

t.test('nobody else can sign somebody out', async (t) => {
  const portal = createFakePortal();
  const [alice, mallory] = [portal.browser(), portal.browser()];
  await alice.signIn();
  await mallory.signIn();
  await mallory.get('/');
  for (const [token, origin] of [
    [mallory.formToken, undefined],
    ['', undefined],
    [mallory.formToken, 'https://evil.example'],
  ] as const) {
    t.equal((await alice.post('/logout', { token }, origin === undefined ? {} : { origin })).status, 403);
  }
  t.equal((await alice.get('/')).status, 200);
});

t.test('the token of one form does not open another', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await browser.signIn();
  await browser.get('/login');
  t.equal((await browser.post('/logout', { token: browser.formToken })).status, 403);
});

t.test('signing out twice does no harm', async (t) => {
  const browser = createFakePortal().browser();
  const answer = await browser.post('/logout', {});
  t.equal(headerOf(answer, 'location'), '/login?notice=signed-out');
});

t.test('where sessions cannot be kept, nobody is told that they are signed in', async (t) => {
  const { sessions } = createFakePortal();
  const portal = createFakePortal({ sessions: { ...sessions, save: async () => false } });
  const browser = portal.browser();
  const answer = await browser.signIn();
  t.equal(answer.status, 503);
  t.notOk(browser.cookies.has(SESSION));
});

t.test('where a session cannot be ended, the page says what that means', async (t) => {
  const { sessions } = createFakePortal();
  const portal = createFakePortal({ sessions: { ...sessions, remove: async () => false } });
  const browser = portal.browser();
  await browser.signIn();
  await browser.get('/');
  const answer = await browser.post('/logout', { token: browser.formToken });
  t.equal(answer.status, 503);
  t.match(answer.text, 'signed out in this browser only');
  t.notOk(browser.cookies.has(SESSION));
});

t.test('who somebody is follows the configuration of the moment', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await browser.signIn();
  t.match((await browser.get('/')).text, 'acme:alice');
  portal.world.tenant = toTenantName('renamed');
  t.match((await browser.get('/')).text, 'renamed:alice');
});

t.test('no credential is kept, in the session or in the log', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await browser.signIn();
  const session = await portal.sessions.find(browser.cookies.get(SESSION) ?? '');
  t.ok(session);
  t.notMatch(JSON.stringify([session, portal.logged]), /keystone-token|alice-pass/);
});

t.test('no notice of a stranger is shown', async (t) => {
  const browser = createFakePortal().browser();
  for (const notice of ['call+this+number', 'constructor', '__proto__'])
    t.notMatch((await browser.get(`/login?notice=${notice}`)).text, 'class="notice');
});
