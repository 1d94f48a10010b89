import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { AccessTokens, ShownToken } from '../../../../src/features/tokens/feature.ts';
import { createFakePortal } from '../../../support/portal.ts';

const SECRET = `sgt_abcd1234${'x'.repeat(38)}`;
const DAY = 86_400;

function shown(spec: ShownToken['spec'], secret?: string): ShownToken {
  return {
    metadata: { name: 'abcd1234', uid: 'u', creationTimestamp: '2026-11-26T09:00:00Z' },
    spec,
    status: {
      ...(secret !== undefined && { token: secret }),
      state: 'active',
      owner: 'acme:alice',
      expirationTimestamp: '2026-12-26T09:00:00Z',
    },
  };
}

/** Tokens that live for a week at most, and what was made of them. */
function fakeTokens() {
  const made: ShownToken['spec'][] = [];
  const tokens: AccessTokens = {
    longestLife: () => 7 * DAY * 1_000,
    list: () => made.map((spec) => shown(spec)),
    async create(_identity, spec) {
      if (spec.scopes.includes('namespace/<b>/read'))
        throw new StatusError('ObjectInvalid', 'no such scope <b>');
      made.push(spec);
      return shown(spec, SECRET);
    },
    rotate: async () => shown({ scopes: [] }, SECRET),
    revoke: async () => shown({ scopes: [] }),
  };
  return { tokens, made };
}

const FORM = { do: 'create', level: 'edit', where: 'namespaces', namespaces: 'web, lab', days: '30' };

async function signedIn(tokens: AccessTokens) {
  const browser = createFakePortal({ tokens }).browser();
  await browser.signIn();
  await browser.get('/tokens');
  return browser;
}

t.test('a secret is shown on the page after the form, and once', async (t) => {
  const { tokens, made } = fakeTokens();
  const browser = await signedIn(tokens);
  const done = await browser.post('/tokens', { ...FORM, token: browser.formToken });
  t.match(done, { status: 303, text: '' });
  t.same(made, [{ scopes: ['namespace/web/edit', 'namespace/lab/edit'], expirationSeconds: 7 * DAY }]);
  t.match(Object.fromEntries(done.headers), { Location: '/tokens', 'Cache-Control': 'no-store' });
  t.notMatch(JSON.stringify(done.headers), SECRET);
  t.match((await browser.get('/tokens')).text, SECRET);
  t.notMatch((await browser.get('/tokens')).text, SECRET);
});

t.test('a secret is shown to its own session, on its own page, for a minute', async (t) => {
  const { tokens } = fakeTokens();
  const portal = createFakePortal({ tokens, quota: { quotaOf: async () => undefined } });
  const browser = portal.browser();
  await browser.signIn();
  await browser.get('/tokens');
  await browser.post('/tokens', { ...FORM, token: browser.formToken });
  const flash = browser.cookies.get('__Host-stonegate-flash') ?? '';
  t.notMatch((await browser.get('/quota')).text, SECRET);
  const other = portal.browser();
  await other.signIn();
  other.cookies.set('__Host-stonegate-flash', flash);
  t.notMatch((await other.get('/tokens')).text, SECRET);
  browser.cookies.set('__Host-stonegate-flash', flash);
  portal.clock.advance(60_000);
  t.notMatch((await browser.get('/tokens')).text, SECRET);
});

t.test('a refused form is shown again with the reason and what was entered', async (t) => {
  const { tokens } = fakeTokens();
  const browser = await signedIn(tokens);
  const entered = { ...FORM, level: 'read', namespaces: '<b>', token: browser.formToken };
  const { status, text } = await browser.post('/tokens', entered);
  t.equal(status, 422);
  t.match(text, /role="alert".*no such scope &lt;b&gt;/s);
  t.match(text, 'value="&lt;b&gt;"');
});

t.test('a form from elsewhere makes nothing', async (t) => {
  const { tokens, made } = fakeTokens();
  const browser = await signedIn(tokens);
  t.equal((await browser.post('/tokens', { ...FORM, token: '1.x' })).status, 403);
  const elsewhere = { origin: 'https://evil.example' };
  t.equal((await browser.post('/tokens', { ...FORM, token: browser.formToken }, elsewhere)).status, 403);
  t.same(made, []);
});
