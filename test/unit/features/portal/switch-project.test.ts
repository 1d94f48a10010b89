import t from 'tap';
import { createFakePortal, keystoneIdentity } from '../../../support/portal.ts';

const SESSION = '__Host-stonegate';
const TOKEN = '__Host-stonegate-keystone';
const HOUR = 3_600_000;
const PROJECTS = [
  { id: 'p1', name: 'web' },
  { id: 'p2', name: 'batch' },
];

/** A portal, and a browser that is signed in to project web and shows the account page. */
async function signedIn() {
  const portal = createFakePortal();
  portal.world.password = { token: 'keystone-token', projects: PROJECTS };
  const browser = portal.browser();
  await browser.signIn();
  const text = await browser.text('/');
  /** What Keystone says of the token of project batch. */
  const batch = keystoneIdentity(portal.clock.now() + 12 * HOUR);
  const scope = { kind: 'project', id: 'p2', name: 'batch', roles: ['reader'] } as const;
  portal.world.identity = { ...batch, groups: ['keystone:project:p2'], scope };
  return { portal, browser, text };
}

t.test('a user switches to another project without signing in again', async (t) => {
  const { portal, browser, text } = await signedIn();
  t.match(text, '<option value="p1" selected>web</option>');
  const before = browser.cookies.get(SESSION) ?? '';
  const response = await browser.switchTo('p2');
  t.equal(response.status, 303);
  t.same(portal.exchanged, [{ token: 'keystone-token', projectID: 'p2' }]);
  t.equal(portal.asked.length, 1, 'the password was sent to Keystone only at sign-in');
  const page = await browser.get('/');
  for (const part of ['<option value="p2" selected>batch</option>', 'any role on project batch'])
    t.ok(page.text.includes(part), part);
  t.match(await browser.text('/kubeconfig'), 'current-context: demo-batch');
  t.not(browser.cookies.get(SESSION), before);
  await browser.switchTo('p1');
  t.same(
    portal.exchanged.at(-1),
    { token: 'keystone-token', projectID: 'p1' },
    'the token of the sign-in is used',
  );
  browser.cookies.set(SESSION, before);
  t.equal(await browser.status('/'), 303, 'the former session has ended');
});

t.test('switching does not make a session longer', async (t) => {
  const { portal, browser } = await signedIn();
  portal.clock.advance(7 * HOUR + 1);
  await browser.get('/');
  await browser.switchTo('p2');
  t.equal(await browser.status('/'), 200);
  portal.clock.advance(HOUR);
  t.equal(await browser.status('/'), 303);
});

t.test('the token is stored only in the browser, sealed for the session', async (t) => {
  const { portal, browser } = await signedIn();
  const sealed = browser.cookies.get(TOKEN) ?? '';
  t.match(sealed, /^[\w-]{40,}$/);
  t.notMatch(Buffer.from(sealed, 'base64url').toString('latin1'), 'keystone-token');
  const session = await portal.sessions.find(browser.cookies.get(SESSION) ?? '');
  t.ok(session);
  t.notMatch(JSON.stringify([session, portal.logged]), /keystone-token|alice-pass/);
  const other = portal.browser();
  await other.signIn();
  other.cookies.set(TOKEN, sealed);
  t.notMatch(await other.text('/'), '/project', 'it is worthless with another session');
  await browser.submit('/logout', {});
  t.notOk(browser.cookies.has(TOKEN), 'signing out deletes it');
});

t.test('the token is not stored if there is nothing to switch to, or if it does not fit', async (t) => {
  for (const password of [
    { token: 'keystone-token', projects: PROJECTS.slice(0, 1) },
    { token: 'x'.repeat(4_000), projects: PROJECTS },
  ]) {
    const portal = createFakePortal();
    portal.world.password = password;
    const browser = portal.browser();
    await browser.signIn();
    t.notOk(browser.cookies.has(TOKEN));
    t.notMatch(await browser.text('/'), '/project');
  }
});

t.test('if Keystone refuses, the page says so, and the user is signed in as before', async (t) => {
  const { portal, browser } = await signedIn();
  portal.world.rescoped = undefined;
  const response = await browser.switchTo('p2');
  t.equal(response.status, 403);
  t.match(response.text, 'You cannot switch to batch');
  t.match(response.text, 'aria-label="Pages"', 'the navigation bar is on this page too');
  t.match(await browser.text('/'), '<option value="p1" selected>web</option>');
});

t.test('a form of another page, of another session or for an unknown project is refused', async (t) => {
  const { portal, browser } = await signedIn();
  const mallory = portal.browser();
  await mallory.signIn();
  await mallory.get('/');
  for (const [project, changes, ask] of [
    ['p2', { token: browser.formToken }, {}],
    ['p2', { token: mallory.formToken }, {}],
    ['p2', {}, { origin: 'https://evil.example' }],
    ['p3', {}, {}],
    ['', {}, {}],
  ] as const) {
    const response = await browser.switchTo(project, changes, ask);
    t.equal(response.status, 403);
    t.match(response.text, 'This form has expired');
  }
  t.same(portal.exchanged, []);
});

t.test('switching counts as signing in for the limit', async (t) => {
  const { portal, browser } = await signedIn();
  portal.world.limited = 'source';
  t.equal((await browser.switchTo('p2')).status, 429);
  t.same(portal.exchanged, []);
});

t.test(
  'projects with the same name are distinguished, and without a project "none" is selected',
  async (t) => {
    const portal = createFakePortal();
    portal.world.password = {
      token: 'keystone-token',
      projects: [...PROJECTS, { id: 'p3', name: 'web' }],
    };
    const { scope: _scope, ...unscoped } = keystoneIdentity(portal.clock.now() + HOUR);
    portal.world.identity = unscoped;
    const browser = portal.browser();
    await browser.signIn();
    const text = await browser.text('/');
    for (const option of [
      '<option value="" selected>none</option>',
      '<option value="p1">web (p1)</option>',
      '<option value="p2">batch</option>',
      '<option value="p3">web (p3)</option>',
    ])
      t.ok(text.includes(option), option);
  },
);
