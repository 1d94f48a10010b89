import t from 'tap';
import type { ShownToken } from '../../../../src/features/tokens/access-token-v1alpha1.ts';
import type { TokenSource } from '../../../../src/features/tokens/tokens-page.ts';
import { signedIn } from '../../../support/portal.ts';
import { PAGE_SOURCES } from '../../../support/portal-pages.ts';

const SECRET = `sgt_abcd1234${'x'.repeat(38)}`;
const FORM = { do: 'create', as: 'text', level: 'edit', where: 'namespaces', namespaces: 'web', days: '30' };
const DAY = 24 * 3_600_000;
const FLASH = '__Host-stonegate-flash';

/** A portal, a browser at its tokens page, and how many tokens were created and revoked. */
async function setUp({ namespaces }: { readonly namespaces?: readonly string[] } = {}) {
  const count = { made: 0, revoked: 0 };
  const asked: unknown[] = [];
  const token: ShownToken = {
    metadata: { name: 'abcd1234', uid: 'u', creationTimestamp: '2026-11-26T09:00:00Z' },
    spec: { scopes: [] },
    status: {
      ...{ token: SECRET, state: 'active', owner: 'acme:alice' },
      expirationTimestamp: '2026-12-26T09:00:00Z',
    },
  };
  const tokens: TokenSource = {
    longestLife: ({ scopes }) => (scopes[0]?.endsWith('read') ? 90 * DAY : DAY),
    list: () => [],
    async create(_, spec) {
      count.made += 1;
      asked.push(spec);
      return token;
    },
    rotate: async () => token,
    async revoke() {
      count.revoked += 1;
      return token;
    },
  };
  const { portal, browser } = await signedIn({
    ...PAGE_SOURCES,
    tokens,
    namespacesOf: async () => namespaces,
  });
  await browser.get('/tokens');
  return { portal, browser, count, asked };
}

t.test('a secret is shown only to its own session, on its own page, for a minute', async (t) => {
  const { portal, browser } = await setUp();
  const done = await browser.submit('/tokens', FORM);
  t.notMatch(JSON.stringify(done.headers), SECRET);
  const flash = browser.cookies.get(FLASH) ?? '';
  for (const path of ['/members?namespace=shop', '/teams']) {
    browser.cookies.set(FLASH, flash);
    t.notMatch(await browser.text(path), SECRET, path);
  }
  const other = portal.browser();
  await other.signIn();
  other.cookies.set(FLASH, flash);
  t.notMatch(await other.text('/tokens'), SECRET);
  portal.clock.advance(59_999);
  browser.cookies.set(FLASH, flash);
  t.match(await browser.text('/tokens'), SECRET);
  portal.clock.advance(1);
  browser.cookies.set(FLASH, flash);
  t.notMatch(await browser.text('/tokens'), SECRET);
});

t.test(
  'the form lists the namespaces that the user sees, and says how long each choice lasts at most',
  async (t) => {
    const { browser, asked } = await setUp({ namespaces: ['shop', 'web'] });
    const text = await browser.text('/tokens');
    for (const name of ['shop', 'web'])
      t.match(text, `<input type="checkbox" name="namespaces" value="${name}">`);
    t.match(text, 'Read: everything but Secrets <span class="life">up to 90 days</span>');
    t.match(text, 'All that you may do, wherever you may do it <span class="life">up to 24 hours</span>');
    await browser.post('/tokens', { ...FORM, level: 'read', days: '365', token: browser.formToken });
    t.match(asked, [{ scopes: ['namespace/web/read'], expirationSeconds: 90 * 86_400 }]);
    const unknown = await setUp();
    t.match(await unknown.browser.text('/tokens'), /<input id="namespaces" name="namespaces" type="text"/);
  },
);

t.test('a form that is refused marks the field to correct, and keeps what was entered', async (t) => {
  const { browser, count } = await setUp({ namespaces: ['shop'] });
  const entered = { ...FORM, level: 'manage', namespaces: 'shop', words: '+exec', description: 'the "shop"' };
  const { text } = await browser.post('/tokens', { ...entered, days: '0', token: browser.formToken });
  const marked = [...text.matchAll(/<input[^>]*name="(\w+)"[^>]*aria-invalid="true"[^>]*>/g)];
  t.same(
    marked.map(([, name]) => name),
    ['days'],
  );
  t.match(marked[0]?.[0], 'aria-describedby="days-hint why"');
  t.match(text, '<p id="why">Enter for how many days the token is valid');
  t.match(text, 'value="the &quot;shop&quot;"');
  t.match(text, '<details open><summary>More rights', 'and shows what is chosen');
  const { text: nowhere } = await browser.post('/tokens', {
    ...FORM,
    namespaces: '',
    token: browser.formToken,
  });
  t.match(nowhere, /<input type="checkbox" name="namespaces" value="shop" aria-invalid="true"/);
  t.equal(count.made, 0);
});
