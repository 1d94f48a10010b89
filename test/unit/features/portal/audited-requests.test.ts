/** Every request to the portal is audited and counted, with its user and what it stands for in the API. */
import t from 'tap';
import { createAuditLog } from '../../../../src/observability/audit-log.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { createFakePortal, type FakePortal, headerOf, signedIn } from '../../../support/portal.ts';
import { PAGE_SOURCES } from '../../../support/portal-pages.ts';
import { eachRow, linesOf } from '../../../support/rows.ts';

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

async function setUp(changes: Parameters<typeof createFakePortal>[0] = PAGE_SOURCES) {
  const { portal, browser } = await signedIn(changes);
  const [, signIn] = seen(portal);
  return { portal, browser, session: signIn?.session ?? '' };
}

t.test('a page stands for a request of the API, and its event names user, tenant and session', async (t) => {
  const { portal, browser, session } = await setUp();
  t.match(session, /^[0-9a-f]{16}$/);
  t.notMatch([...browser.cookies.values()].join(), session, 'which is no part of the session cookie');
  await browser.get(`/invitation/${SECRET}`);
  seen(portal);
  const who = { by: 'acme:alice', tenant: 'acme', authenticator: 'portal', session };
  await eachRow(
    `
    /                           | list   | selfidentity//
    /kubeconfig                 | list   | selfidentity//
    /access                     | list   | selfaccessrules//
    /quota                      | list   | tenantquotas//
    /tokens                     | list   | accesstokens//
    /teams                      | list   | teams//
    /members?namespace=shop     | list   | members/shop/
    /members                    | list   | members/shop/
    /members?namespace=not-mine | list   | members/not-mine/
    /invitation                 | create | invitationacceptances//`,
    async (path, verb, object) => {
      const status = await browser.status(path);
      const what = { path: path.split('?')[0], verb, object: `stonegate.dev/${object}` };
      t.match(seen(portal), [{ ...what, ...who, status }], path);
    },
  );
});

t.test('each action of a form stands for a request that changes something', async (t) => {
  await eachRow(
    `
    /tokens  | do=create&level=session&days=1 | create | accesstokens//
    /tokens  | do=rotate&name=abcd1234        | create | accesstokenrotations//abcd1234
    /tokens  | do=revoke&name=abcd1234        | delete | accesstokens//abcd1234
    /members?namespace=shop | do=add&type=User&name=bob&role=read       | create | members/shop/
    /members?namespace=shop | do=set&id=m1&type=User&name=bob&role=read | update | members/shop/m1
    /members?namespace=shop | do=remove&id=m1&name=bob                  | delete | members/shop/m1
    /members?namespace=shop | do=invite&role=read                       | create | invitations//
    /members?namespace=shop | do=withdraw&id=i1                         | delete | invitations//i1
    /teams   | do=create&team=web              | create | teams//web
    /teams   | do=add&team=web&username=bob    | update | teams//web
    /teams   | do=remove&team=web&username=bob | update | teams//web
    /invitation | do=accept                    | create | invitationacceptances//`,
    async (page, fields, verb, object) => {
      const { portal, browser, session } = await setUp();
      await browser.get(`/invitation/${SECRET}`);
      await browser.get(page);
      seen(portal);
      const { status } = await browser.submit(page, Object.fromEntries(new URLSearchParams(fields)));
      t.equal(status, 303, fields);
      const expected = { verb, object: `stonegate.dev/${object}`, by: 'acme:alice', session, status: 303 };
      t.match(seen(portal), [{ path: page.split('?')[0], ...expected }], `${page} ${fields}`);
    },
  );
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
    await browser.text('/'),
  );
  await browser.post('/logout', { token: token?.[1] ?? '' });
  const events = seen(portal).map(({ path, verb, by, status }) => `${path} ${verb} ${by} ${status}`);
  t.same(
    events,
    linesOf(`
    /tokens get undefined 303
    /login get undefined 200
    /login/keystone post acme:alice 303
    /icon.svg get undefined 200
    / list acme:alice 200
    /project post acme:alice 303
    /login get undefined 200
    / list acme:alice 200
    /logout post acme:alice 303`),
  );
});

t.test(
  'what is refused is in the audit log, and a form with the user of the session if the browser sent one',
  async (t) => {
    const { portal, browser, session } = await setUp();
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
      refused.map(({ path, by, status }) => `${path} ${by} ${status}`),
      linesOf(`
      /no-such-page undefined 404
      / undefined 421
      /login undefined 405
      /login/keystone undefined 429
      /login/keystone undefined 403`),
    );
  },
);

t.test('the audit log has neither the query of a request nor the secret of a link', async (t) => {
  const events = async (sources: Parameters<typeof createFakePortal>[0], table: string) => {
    const portal = createFakePortal(sources);
    const browser = portal.browser();
    const expected: string[] = [];
    await eachRow(table, async (target, event) => {
      await browser.get(target);
      expected.push(event);
    });
    t.same(
      seen(portal).map(({ path, status }) => `${path} ${status}`),
      expected,
    );
  };
  await events(
    PAGE_SOURCES,
    `
    /login/oidc?provider=acme                          | /login/oidc 303
    /login/callback/acme?code=the-code&state=the-state | /login/callback/acme 303
    /invitation/${SECRET}                              | /invitation/ 303
    /invitation/${SECRET.slice(4)}                     | /invitation/ 303
    /login?next=/%23kubectl                            | /login 200`,
  );
  await events(
    {},
    `
    /invitation/${SECRET}                          | /invitation/ 404
    //invitation/${SECRET}                         | //invitation/ 404
    https://login.example.com/invitation/${SECRET} | https:/ 404`,
  );
});

t.test('the event of a page names the namespace that it shows, also if the browser named none', async (t) => {
  const lines: string[] = [];
  const sink = { write: (...parts: readonly string[]) => void lines.push(parts.join('')) };
  const observer = createAuditLog({ sink, clock: createFakeClock() });
  let before = '';
  const members: typeof PAGE_SOURCES.members = {
    ...PAGE_SOURCES.members,
    list(...asked) {
      before = lines.at(-1) ?? '';
      return PAGE_SOURCES.members.list(...asked);
    },
  };
  const { browser } = await setUp({ ...PAGE_SOURCES, members, observer });
  await browser.get('/members');
  t.match(JSON.parse(before), { stage: 'RequestReceived', requestURI: '/members', verb: 'list' });
  t.match(JSON.parse(lines.at(-1) ?? ''), {
    ...{ stage: 'ResponseComplete', verb: 'list', requestURI: '/members' },
    objectRef: { resource: 'members', namespace: 'shop', apiGroup: 'stonegate.dev' },
  });
});

t.test('a response names its audit event', async (t) => {
  const { portal, browser } = await setUp();
  for (const path of ['/', '/no-such-page', '/icon.svg']) {
    const response = await browser.get(path);
    const [{ auditID } = { auditID: '' }] = portal.observed.splice(0);
    t.equal(headerOf(response, 'audit-id'), auditID, path);
  }
});
