import t from 'tap';
import type { AccessTokens, ShownToken } from '../../../../src/features/tokens/feature.ts';
import { createFakePortal } from '../../../support/portal.ts';
import { PAGE_SOURCES } from '../../../support/portal-pages.ts';

const SECRET = `sgt_abcd1234${'x'.repeat(38)}`;
const FORM = { do: 'create', level: 'edit', where: 'namespaces', namespaces: 'web', days: '30' };
const FLASH = '__Host-stonegate-flash';

/** A portal, a browser at its tokens page, and how many tokens were created and revoked. */
async function setUp() {
  const count = { made: 0, revoked: 0 };
  const token: ShownToken = {
    metadata: { name: 'abcd1234', uid: 'u', creationTimestamp: '2026-11-26T09:00:00Z' },
    spec: { scopes: [] },
    status: {
      ...{ token: SECRET, state: 'active', owner: 'acme:alice' },
      expirationTimestamp: '2026-12-26T09:00:00Z',
    },
  };
  const tokens: AccessTokens = {
    longestLife: () => 1_000,
    list: () => [],
    async create() {
      count.made += 1;
      return token;
    },
    rotate: async () => token,
    async revoke() {
      count.revoked += 1;
      return token;
    },
  };
  const portal = createFakePortal({ ...PAGE_SOURCES, tokens });
  const browser = portal.browser();
  await browser.signIn();
  await browser.get('/tokens');
  return { portal, browser, count };
}

t.test('a secret is shown only to its own session, on its own page, for a minute', async (t) => {
  const { portal, browser } = await setUp();
  const done = await browser.post('/tokens', { ...FORM, token: browser.formToken });
  t.notMatch(JSON.stringify(done.headers), SECRET);
  const flash = browser.cookies.get(FLASH) ?? '';
  for (const path of ['/members?namespace=shop', '/teams']) {
    browser.cookies.set(FLASH, flash);
    t.notMatch((await browser.get(path)).text, SECRET, path);
  }
  const other = portal.browser();
  await other.signIn();
  other.cookies.set(FLASH, flash);
  t.notMatch((await other.get('/tokens')).text, SECRET);
  portal.clock.advance(59_999);
  browser.cookies.set(FLASH, flash);
  t.match((await browser.get('/tokens')).text, SECRET);
  portal.clock.advance(1);
  browser.cookies.set(FLASH, flash);
  t.notMatch((await browser.get('/tokens')).text, SECRET);
});

t.test('a form from elsewhere creates no token', async (t) => {
  const { browser, count } = await setUp();
  t.equal((await browser.post('/tokens', { ...FORM, token: '1.x' })).status, 403);
  const elsewhere = { origin: 'https://evil.example' };
  t.equal((await browser.post('/tokens', { ...FORM, token: browser.formToken }, elsewhere)).status, 403);
  t.equal(count.made, 0);
});

t.test('a form whose action the page does not know changes nothing', async (t) => {
  const { browser, count } = await setUp();
  await browser.post('/tokens', { do: 'rename', name: 'abcd1234', token: browser.formToken });
  t.same(count, { made: 0, revoked: 0 });
});
