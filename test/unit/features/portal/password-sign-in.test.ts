import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createSignInRateLimit } from '../../../../src/limits/sign-in-rate-limit.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { createFakePortal, headerOf, ORIGIN } from '../../../support/portal.ts';
import { PAGE_SOURCES } from '../../../support/portal-pages.ts';

const FILLED = { user: 'alice', password: 'alice-pass', domain: 'acme', project: '', next: '/' };

t.test('user, password, domain and project are sent to Keystone as entered', async (t) => {
  const portal = createFakePortal();
  const response = await portal.browser().signIn({ user: 'Älice ', password: ' p&=<"+ ', project: 'web' });
  t.equal(response.status, 303);
  t.same(portal.asked, [{ user: 'Älice ', password: ' p&=<"+ ', domain: 'acme', project: 'web' }]);
});

t.test(
  'a refusal by Keystone does not say which value was wrong, and the password is not filled in again',
  async (t) => {
    const portal = createFakePortal();
    portal.world.password = { refused: 'wrong' };
    const response = await portal.browser().signIn();
    t.equal(response.status, 403);
    t.match(response.text, 'Keystone does not accept this. Check user name, password, domain and project.');
    t.match(response.text, 'value="alice"');
    t.notMatch(response.text, 'alice-pass');
    t.notMatch(JSON.stringify(portal.logged), /alice-pass/);
  },
);

t.test('a value that is missing or too long is reported, and Keystone is not called', async (t) => {
  const portal = createFakePortal();
  for (const [field, words] of [
    ['user', 'Enter your user name'],
    ['password', 'Enter your user name, your password'],
    ['domain', 'the domain your user belongs to'],
  ] as const) {
    const { status, text } = await portal.browser().signIn({ [field]: '' });
    t.equal(status, 422);
    t.match(text, words);
    t.match(text, '<title>Error: Sign in');
  }
  t.equal((await portal.browser().signIn({ password: 'x'.repeat(1_025) })).status, 422);
  t.equal((await portal.browser().signIn({ password: 'x'.repeat(20_000) })).status, 413);
  t.same(portal.asked, []);
});

t.test('too many attempts are refused before Keystone is called, and the form is shown again', async (t) => {
  const portal = createFakePortal(PAGE_SOURCES);
  portal.world.limited = 'user';
  const response = await portal.browser().signIn({ next: '/tokens' });
  t.equal(response.status, 429);
  t.equal(headerOf(response, 'retry-after'), '60');
  t.match(response.text, 'Wait a minute');
  for (const entered of ['alice', 'acme', '/tokens']) t.match(response.text, `value="${entered}"`);
  t.notMatch(response.text, 'alice-pass');
  t.same(portal.asked, []);
});

t.test('a user may sign in again and again, but not guess: five wrong passwords in a row', async (t) => {
  const clock = createFakeClock();
  const [perSource, perUser] = [
    { perSecond: 1, burst: 50 },
    { perSecond: 0.05, burst: 5 },
  ];
  const limit = createSignInRateLimit({ perSource, perUser, clock });
  const portal = createFakePortal({ clock, limit });
  for (let at = 1; at <= 6; at += 1) t.equal((await portal.browser().signIn()).status, 303, `sign-in ${at}`);
  portal.world.password = { refused: 'wrong' };
  for (let at = 1; at <= 5; at += 1) t.equal((await portal.browser().signIn()).status, 403, `guess ${at}`);
  t.equal((await portal.browser().signIn()).status, 429);
  portal.world.password = { token: 'keystone-token', projects: [] };
  t.equal((await portal.browser().signIn()).status, 429, 'an attacked user waits too');
  clock.advance(20_000);
  t.equal((await portal.browser().signIn()).status, 303);
});

t.test('another spelling of a user name counts as the same user in the limit', async (t) => {
  const users: (string | undefined)[] = [];
  const limit = {
    admit: (_source: string, user: string | undefined) => void users.push(user),
    succeeded() {},
  };
  const portal = createFakePortal({ limit });
  for (const user of ['zoe', 'ZOE', ' zoe', 'Zoë']) await portal.browser().signIn({ user, domain: 'Acme' });
  await portal.browser().signIn({ user: 'zo', domain: 'eAcme' });
  t.equal(new Set(users.slice(0, 4)).size, 1);
  t.not(users[4], users[0]);
});

t.test('a form without this browser’s token is refused', async (t) => {
  const portal = createFakePortal();
  const [alice, mallory] = [portal.browser(), portal.browser()];
  await alice.get('/login');
  await mallory.get('/login');
  for (const token of ['', 'x', mallory.formToken, `${alice.formToken}x`]) {
    const response = await alice.post('/login/keystone', { ...FILLED, token });
    t.equal(response.status, 403, token);
    t.match(response.text, 'This form has expired');
  }
  alice.cookies.clear();
  t.equal((await alice.submit('/login/keystone', FILLED)).status, 403);
  t.same(portal.asked, []);
});

t.test('a form from another site is refused, even with a valid token', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await browser.get('/login');
  const form = { ...FILLED, token: browser.formToken };
  const statusFrom = async (origin: string | undefined, site?: string) => {
    const headers = site === undefined ? [] : [['sec-fetch-site', site] as const];
    return (await browser.post('/login/keystone', form, { origin, headers })).status;
  };
  for (const origin of ['https://evil.example', 'null', undefined])
    t.equal(await statusFrom(origin), 403, `${origin}`);
  for (const site of ['same-site', 'cross-site']) t.equal(await statusFrom(ORIGIN, site), 403, site);
  t.equal(await statusFrom(undefined, 'none'), 403);
  t.equal(await statusFrom('https://login.example.com:8443', 'same-origin'), 403);
  t.same(portal.asked, []);
  t.equal(await statusFrom(undefined, 'same-origin'), 303);
});

t.test('a body that is not a form is refused', async (t) => {
  const browser = createFakePortal().browser();
  await browser.get('/login');
  const headers = [['content-type', 'application/json'] as const];
  t.equal((await browser.post('/login/keystone', {}, { headers })).status, 415);
});

t.test(
  'an identity that the API would refuse is refused with the API’s message, and no session is created',
  async (t) => {
    for (const [problem, status] of [
      [new StatusError('CredentialInvalid', 'Unauthorized'), 403],
      [new StatusError('KeystoneUnavailable', 'Service Unavailable: Keystone cannot be asked'), 503],
    ] as const) {
      const portal = createFakePortal();
      portal.world.identity = problem;
      const browser = portal.browser();
      const response = await browser.signIn();
      t.equal(response.status, status);
      t.match(response.text, problem.message);
      t.notOk(browser.cookies.has('__Host-stonegate'));
    }
  },
);

t.test('without password sign-in there is neither a form nor its target', async (t) => {
  const portal = createFakePortal({ keystone: undefined });
  const browser = portal.browser();
  t.notMatch(await browser.text('/login'), '<form');
  t.equal((await browser.post('/login/keystone', FILLED)).status, 404);
});
