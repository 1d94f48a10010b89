/** Every request to the portal is audited and counted, with its user and what it stands for in the API. */
import t from 'tap';
import { createFakePortal, type FakePortal, headerOf } from '../../../support/portal.ts';
import { PAGE_SOURCES } from '../../../support/portal-pages.ts';

const SECRET = `sgi_${'Secret7x'.repeat(5)}`;

/** What the observers learned of the requests since the last call. */
function seen({ observed }: FakePortal) {
  return observed.splice(0).map(({ info, exchange, user, tenant, identity, outcome }) => ({
    path: exchange.target,
    verb: info?.verb,
    ...(info?.isResourceRequest && {
      object: [info.apiGroup, info.resource, info.namespace, info.name].join('/'),
    }),
    by: user?.username,
    tenant,
    authenticator: identity?.authenticator,
    session: identity?.auditAnnotations['stonegate.dev/session'],
    status: outcome?.status,
    code: outcome?.code,
  }));
}

async function signedIn(changes: Parameters<typeof createFakePortal>[0] = PAGE_SOURCES) {
  const portal = createFakePortal(changes);
  const browser = portal.browser();
  await browser.signIn();
  const [, signIn] = seen(portal);
  return { portal, browser, session: signIn?.session ?? '' };
}

t.test('a page stands for a request of the API, and its event names user, tenant and session', async (t) => {
  const { portal, browser, session } = await signedIn();
  t.match(session, /^[0-9a-f]{16}$/);
  t.notMatch([...browser.cookies.values()].join(), session, 'which is no part of the session cookie');
  await browser.get(`/invitation/${SECRET}`);
  seen(portal);
  for (const [path, verb, object] of [
    ['/', 'list', 'selfidentity//'],
    ['/kubeconfig', 'list', 'selfidentity//'],
    ['/access', 'list', 'selfaccessrules//'],
    ['/quota', 'list', 'tenantquotas//'],
    ['/tokens', 'list', 'accesstokens//'],
    ['/teams', 'list', 'teams//'],
    ['/members?namespace=shop', 'list', 'members/shop/'],
    ['/members?namespace=not-mine', 'list', 'members/not-mine/'],
    ['/invitation', 'create', 'invitationacceptances//'],
  ] as const) {
    const { status } = await browser.get(path);
    const who = { by: 'acme:alice', tenant: 'acme', authenticator: 'portal', session };
    const what = { path: path.split('?')[0], verb, object: `stonegate.dev/${object}` };
    t.match(seen(portal), [{ ...what, ...who, status }], path);
  }
});

t.test('each action of a form stands for a request that changes something', async (t) => {
  for (const [page, fields, verb, object] of [
    ['/tokens', { do: 'create', level: 'session', days: '1' }, 'create', 'accesstokens//'],
    ['/tokens', { do: 'rotate', name: 'abcd1234' }, 'create', 'accesstokenrotations//abcd1234'],
    ['/tokens', { do: 'revoke', name: 'abcd1234' }, 'delete', 'accesstokens//abcd1234'],
    [
      '/members?namespace=shop',
      { do: 'add', type: 'User', name: 'bob', role: 'read' },
      'create',
      'members/shop/',
    ],
    [
      '/members?namespace=shop',
      { do: 'set', id: 'm1', type: 'User', name: 'bob', role: 'read' },
      'update',
      'members/shop/m1',
    ],
    ['/members?namespace=shop', { do: 'remove', id: 'm1', name: 'bob' }, 'delete', 'members/shop/m1'],
    ['/members?namespace=shop', { do: 'invite', role: 'read' }, 'create', 'invitations//'],
    ['/members?namespace=shop', { do: 'withdraw', id: 'i1' }, 'delete', 'invitations//i1'],
    ['/teams', { do: 'create', team: 'web' }, 'create', 'teams//web'],
    ['/teams', { do: 'add', team: 'web', username: 'bob' }, 'update', 'teams//web'],
    ['/teams', { do: 'remove', team: 'web', username: 'bob' }, 'update', 'teams//web'],
    ['/invitation', { do: 'accept' }, 'create', 'invitationacceptances//'],
  ] as const) {
    const { portal, browser, session } = await signedIn();
    await browser.get(`/invitation/${SECRET}`);
    await browser.get(page);
    seen(portal);
    const { status } = await browser.post(page, { ...fields, token: browser.formToken });
    t.equal(status, 303, fields.do);
    const expected = { verb, object: `stonegate.dev/${object}`, by: 'acme:alice', session, status: 303 };
    t.match(seen(portal), [{ path: page.split('?')[0], ...expected }], `${page} ${fields.do}`);
  }
});

t.test('signing in and out, redirects, and the files of the pages are in the audit log too', async (t) => {
  const portal = createFakePortal(PAGE_SOURCES);
  const browser = portal.browser();
  await browser.get('/tokens');
  await browser.signIn();
  await browser.get('/icon.svg');
  await browser.get('/');
  const switched = await browser.switchTo('p2');
  t.equal(switched.status, 303);
  await browser.get('/login');
  const token = /action="\/logout"><input type="hidden" name="token" value="([^"]+)/.exec(
    (await browser.get('/')).text,
  );
  await browser.post('/logout', { token: token?.[1] ?? '' });
  const events = seen(portal).map(({ path, verb, by, status }) => [path, verb, by, status]);
  t.same(events, [
    ['/tokens', 'get', undefined, 303],
    ['/login', 'get', undefined, 200],
    ['/login/keystone', 'post', 'acme:alice', 303],
    ['/icon.svg', 'get', undefined, 200],
    ['/', 'list', 'acme:alice', 200],
    ['/project', 'post', 'acme:alice', 303],
    ['/login', 'get', undefined, 200],
    ['/', 'list', 'acme:alice', 200],
    ['/logout', 'post', 'acme:alice', 303],
  ]);
});

t.test(
  'what is refused is in the audit log, and a form with the user of the session if the browser sent one',
  async (t) => {
    const { portal, browser, session } = await signedIn();
    const elsewhere = { origin: 'https://evil.example' };
    await browser.post('/tokens', { do: 'create' }, elsewhere);
    await browser.post('/tokens', { do: 'create', token: '1.x' });
    await browser.post('/logout', {}, elsewhere);
    const byAlice = { by: 'acme:alice', tenant: 'acme', session, status: 403 };
    t.match(seen(portal), [
      { path: '/tokens', verb: 'post', ...byAlice },
      { path: '/tokens', verb: 'post', ...byAlice },
      { path: '/logout', verb: 'post', ...byAlice },
    ]);
    await browser.get('/no-such-page');
    await browser.get('/', { headers: [['host', 'k8s.example.com']] });
    await browser.post('/login', {});
    portal.world.limited = 'user';
    await portal.browser().signIn();
    portal.world.limited = undefined;
    portal.world.password = { refused: 'wrong' };
    await portal.browser().signIn();
    const refused = seen(portal).filter(({ status }) => status !== 200);
    t.same(
      refused.map(({ path, by, status }) => [path, by, status]),
      [
        ['/no-such-page', undefined, 404],
        ['/', undefined, 421],
        ['/login', undefined, 405],
        ['/login/keystone', undefined, 429],
        ['/login/keystone', undefined, 403],
      ],
    );
  },
);

t.test('the audit log has neither the query of a request nor the secret of an invitation', async (t) => {
  const portal = createFakePortal(PAGE_SOURCES);
  const browser = portal.browser();
  await browser.get('/login/oidc?provider=acme');
  await browser.get('/login/callback/acme?code=the-code&state=the-state');
  await browser.get(`/invitation/${SECRET}`);
  await browser.get(`/invitation/${SECRET.slice(4)}`);
  await browser.get('/login?next=/%23kubectl');
  t.same(
    seen(portal).map(({ path, status }) => [path, status]),
    [
      ['/login/oidc', 303],
      ['/login/callback/acme', 303],
      ['/invitation/', 303],
      ['/invitation/', 303],
      ['/login', 200],
    ],
  );
  const without = createFakePortal();
  await without.browser().get(`/invitation/${SECRET}`);
  t.match(seen(without), [{ path: '/invitation/', status: 404 }], 'also if there is no page for the link');
});

t.test('a response names its audit event', async (t) => {
  const { portal, browser } = await signedIn();
  for (const path of ['/', '/no-such-page', '/icon.svg']) {
    const response = await browser.get(path);
    const [{ auditID } = { auditID: '' }] = portal.observed.splice(0);
    t.equal(headerOf(response, 'audit-id'), auditID, path);
  }
});
