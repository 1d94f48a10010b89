import t from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import { createFakePortal, headerOf, keystoneIdentity, ORIGIN } from '../../support/portal.ts';

const FILLED = { user: 'alice', password: 'alice-pass', domain: 'acme', project: '', next: '/' };

t.test('user, password, domain and project go to Keystone as they were typed', async (t) => {
  const portal = createFakePortal();
  const answer = await portal.browser().signIn({ user: 'Älice ', password: ' p&=<"+ ', project: 'web' });
  t.equal(answer.status, 303);
  t.same(portal.asked, [{ user: 'Älice ', password: ' p&=<"+ ', domain: 'acme', project: 'web' }]);
});

t.test('an empty project is none', async (t) => {
  const portal = createFakePortal();
  await portal.browser().signIn({ project: '' });
  t.equal(portal.asked[0]?.project, undefined);
});

t.test(
  'what Keystone refuses is told without saying what was wrong, and the password is not put back',
  async (t) => {
    const portal = createFakePortal();
    portal.world.password = { refused: 'wrong' };
    const answer = await portal.browser().signIn();
    t.equal(answer.status, 403);
    t.match(answer.text, 'Keystone does not accept this. Check user name, password, domain and project.');
    t.match(answer.text, 'value="alice"');
    t.notMatch(answer.text, 'alice-pass');
    t.notMatch(JSON.stringify(portal.logged), /alice-pass/);
  },
);

t.test('who needs a second factor is told what to do', async (t) => {
  const portal = createFakePortal();
  portal.world.password = { refused: 'second-factor' };
  t.match((await portal.browser().signIn()).text, /second factor.*application credential/);
});

t.test('what is missing is said at its field, and Keystone is not asked', async (t) => {
  const portal = createFakePortal();
  const answer = await portal.browser().signIn({ user: '', password: '', domain: '' });
  t.equal(answer.status, 422);
  for (const field of ['user', 'password', 'domain']) {
    t.match(answer.text, `<a href="#${field}">`);
    t.match(answer.text, `id="${field}-mistake"`);
  }
  t.match(answer.text, '<title>Error: Sign in');
  t.same(portal.asked, []);
});

t.test('what is far too long is refused before Keystone sees it', async (t) => {
  const portal = createFakePortal();
  t.equal((await portal.browser().signIn({ password: 'x'.repeat(300) })).status, 422);
  t.equal((await portal.browser().signIn({ password: 'x'.repeat(20_000) })).status, 413);
  t.same(portal.asked, []);
});

t.test('who has tried too often waits, and Keystone is not asked', async (t) => {
  for (const [limited, words] of [
    ['user', 'for this user'],
    ['source', 'from your address'],
  ] as const) {
    const portal = createFakePortal();
    portal.world.limited = limited;
    const answer = await portal.browser().signIn();
    t.equal(answer.status, 429);
    t.equal(headerOf(answer, 'retry-after'), '60');
    t.match(answer.text, words);
    t.same(portal.asked, []);
  }
});

t.test('another spelling of a name is no other user to guess the password of', async (t) => {
  const users: (string | undefined)[] = [];
  const limit = { admit: (_source: string, user: string | undefined) => void users.push(user) };
  const portal = createFakePortal({ limit });
  for (const user of ['zoe', 'ZOE', ' zoe', 'Zoë']) await portal.browser().signIn({ user, domain: 'Acme' });
  await portal.browser().signIn({ user: 'zo', domain: 'eAcme' });
  t.equal(new Set(users.slice(0, 4)).size, 1);
  t.not(users[4], users[0]);
});

t.test('a form without the token of this browser is refused', async (t) => {
  const portal = createFakePortal();
  const [alice, mallory] = [portal.browser(), portal.browser()];
  await alice.get('/login');
  await mallory.get('/login');
  for (const token of ['', 'x', mallory.formToken, `${alice.formToken}x`]) {
    const answer = await alice.post('/login/keystone', { ...FILLED, token });
    t.equal(answer.status, 403, token);
    t.match(answer.text, 'This form has expired');
  }
  alice.cookies.clear();
  t.equal((await alice.post('/login/keystone', { ...FILLED, token: alice.formToken })).status, 403);
  t.same(portal.asked, []);
});

t.test('a form from another page is refused, whatever it carries', async (t) => {
  const portal = createFakePortal();
  const browser = portal.browser();
  await browser.get('/login');
  const form = { ...FILLED, token: browser.formToken };
  for (const [origin, site] of [
    ['https://evil.example', undefined],
    ['null', undefined],
    [undefined, undefined],
    [ORIGIN, 'same-site'],
    [ORIGIN, 'cross-site'],
    [undefined, 'none'],
    ['https://login.example.com:8443', 'same-origin'],
  ] as const) {
    const headers = site === undefined ? [] : [['sec-fetch-site', site] as const];
    t.equal(
      (await browser.post('/login/keystone', form, { origin, headers })).status,
      403,
      `${origin} ${site}`,
    );
  }
  t.same(portal.asked, []);
  const headers = [['sec-fetch-site', 'same-origin'] as const];
  t.equal((await browser.post('/login/keystone', form, { origin: undefined, headers })).status, 303);
});

t.test('what is no form is refused', async (t) => {
  const browser = createFakePortal().browser();
  await browser.get('/login');
  const headers = [['content-type', 'application/json'] as const];
  t.equal((await browser.post('/login/keystone', {}, { headers })).status, 415);
});

t.test('what the API would refuse is refused here, in its words, and nobody is signed in', async (t) => {
  for (const [problem, status] of [
    [new StatusError('TenantUnknown', 'the domain "acme" has no tenant'), 403],
    [new StatusError('CredentialInvalid', 'Unauthorized'), 403],
    [new StatusError('KeystoneUnavailable', 'Service Unavailable: Keystone cannot be asked'), 503],
    [new StatusError('CredentialRateExceeded', 'Too many requests'), 429],
  ] as const) {
    const portal = createFakePortal();
    portal.world.identity = problem;
    const browser = portal.browser();
    const answer = await browser.signIn();
    t.equal(answer.status, status);
    t.match(answer.text, problem.message.replaceAll('"', '&quot;'));
    t.notOk(browser.cookies.has('__Host-stonegate'));
  }
});

t.test('who has no tenant is not signed in', async (t) => {
  const portal = createFakePortal();
  portal.world.tenant = new StatusError('TenantUnknown', 'no tenant for you');
  const browser = portal.browser();
  t.match((await browser.signIn()).text, /You have no access here.*no tenant for you/s);
  t.notOk(browser.cookies.has('__Host-stonegate'));
});

t.test('where nobody signs in with a password there is neither form nor target', async (t) => {
  const portal = createFakePortal({ keystone: undefined });
  const browser = portal.browser();
  t.notMatch((await browser.get('/login')).text, '<form');
  t.equal((await browser.post('/login/keystone', FILLED)).status, 404);
});

t.test('names are shown as text, whatever they are', async (t) => {
  const portal = createFakePortal();
  const identity = keystoneIdentity(portal.clock.now() + 1_000_000);
  const hostile = '"><script>alert(1)</script>';
  portal.world.identity = {
    ...identity,
    groups: [hostile],
    scope: { kind: 'project', id: hostile, name: hostile, roles: [hostile] },
  };
  portal.world.password = { token: 't', projects: [{ id: hostile, name: hostile }] };
  const browser = portal.browser();
  await browser.signIn();
  const { text } = await browser.get('/');
  t.match(text, '&lt;script&gt;');
  t.notMatch(text, '<script');
});
