/**
 * Authorization responses at another redirect URI than the requested one: a hostile issuer causes them by
 * sending the browser on to an honest one. RFC 9700 §4.4.
 */
import t from 'tap';
import type { Provider } from '../../../../src/features/portal/oidc-portal.ts';
import { createPortalSealer } from '../../../../src/features/portal/portal-storage.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { createFakePortal, createFakeProvider, type FakeBrowser, headerOf } from '../../../support/portal.ts';

const OIDC = '__Host-stonegate-oidc';
const SESSION = '__Host-stonegate';

/** Two issuers, and the callbacks that each was given. */
function setUp() {
  const redeemed: string[] = [];
  const finish = (name: string) => async (callback: URL) => {
    redeemed.push(`${name} ${callback.href}`);
    return { idToken: 'id-token' };
  };
  const [honest, hostile] = ['honest', 'hostile'].map((name) => createFakeProvider(name, finish(name)));
  if (honest === undefined || hostile === undefined) throw new Error('there are two');
  return { honest, hostile, redeemed };
}

const begin = (browser: FakeBrowser, name: string) => browser.get(`/login/oidc?provider=${name}`);
const comeBack = (browser: FakeBrowser, name: string) =>
  browser.get(`/login/callback/${name}?code=the-code&state=the-state`);

t.test('each issuer has its own redirect URI, and its response is accepted there', async (t) => {
  const { honest, hostile, redeemed } = setUp();
  for (const providers of [
    [honest, hostile],
    [hostile, honest],
  ]) {
    const browser = createFakePortal({ providers }).browser();
    for (const { name } of providers) {
      const sent = new URL(headerOf(await begin(browser, name), 'location') ?? '');
      const address = `https://login.example.com/login/callback/${name}`;
      t.equal(sent.searchParams.get('redirect_uri'), address, 'whatever the order');
      t.equal((await comeBack(browser, name)).status, 303);
      t.equal(redeemed.pop(), `${name} ${address}?code=the-code&state=the-state`);
    }
  }
});

t.test(
  'a response at another issuer’s redirect URI is refused, and neither issuer sees the code',
  async (t) => {
    const { honest, hostile, redeemed } = setUp();
    for (const [asked, answered] of [
      [hostile, honest],
      [honest, hostile],
    ] as const) {
      const portal = createFakePortal({ providers: [honest, hostile] });
      const browser = portal.browser();
      await begin(browser, asked.name);
      const response = await comeBack(browser, answered.name);
      t.equal(response.status, 400);
      t.match(response.text, 'This response belongs to another sign-in');
      t.notOk(browser.cookies.has(SESSION));
      t.notOk(browser.cookies.has(OIDC), 'the sign-in is over');
      t.equal((await comeBack(browser, asked.name)).status, 400, 'it is refused at its own address too');
      const [entry] = portal.logged.filter(({ message }) => message.includes('another redirect URI'));
      t.match(entry?.fields, { issuer: asked.issuer, answered: answered.issuer });
      t.notMatch(JSON.stringify(portal.logged), /the-(code|state|nonce|verifier)/);
    }
    t.same(redeemed, []);
  },
);

t.test('a sign-in survives a reload only if its issuer keeps its name', async (t) => {
  const { honest, hostile, redeemed } = setUp();
  const named = (provider: Provider, name: string): Provider => ({ ...provider, name });
  const sealer = createPortalSealer([], systemRandom);
  for (const [title, after, back, status] of [
    ['the same issuers in another order', [hostile, honest], 'honest', 303],
    ['one issuer fewer', [honest], 'honest', 303],
    ['the names exchanged', [named(honest, 'hostile'), named(hostile, 'honest')], 'honest', 400],
    ['the issuer renamed', [named(honest, 'hostile')], 'hostile', 400],
    ['the issuer taken out', [hostile], 'honest', 404],
  ] as const) {
    const browser = createFakePortal({ sealer, providers: [honest, hostile] }).browser();
    await begin(browser, 'honest');
    const reloaded = createFakePortal({ sealer, providers: after }).browser();
    for (const [name, value] of browser.cookies) reloaded.cookies.set(name, value);
    t.equal((await comeBack(reloaded, back)).status, status, title);
    if (status !== 303) t.same(redeemed, [], title);
    redeemed.length = 0;
  }
});
