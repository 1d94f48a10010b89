import t from 'tap';
import { STYLE, STYLE_HASH } from '../../../src/portal/style.ts';
import { fakeExchange } from '../../support/fake-exchange.ts';
import { createFakePortal, headerOf } from '../../support/portal.ts';

const PAGES = ['/', '/login', '/no-such-page', '/icon.svg', '/kubeconfig', '/login/callback/acme'];

t.test('every answer forbids scripts, frames, guessing of types and keeping', async (t) => {
  const browser = createFakePortal().browser();
  for (const path of PAGES) {
    const answer = await browser.get(path);
    const policy = headerOf(answer, 'content-security-policy') ?? '';
    for (const directive of [
      "default-src 'none'",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
      t.match(policy, directive, path);
    t.notMatch(policy, /script-src|unsafe|\*|https?:/, path);
    t.match(Object.fromEntries(answer.headers), {
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'same-origin',
      'Cache-Control': 'no-store',
      'Strict-Transport-Security': /^max-age=\d{8}/,
      'Cross-Origin-Opener-Policy': 'same-origin',
    });
  }
});

t.test('the style in the page is the one that the policy allows', async (t) => {
  const answer = await createFakePortal().browser().get('/login');
  t.match(headerOf(answer, 'content-security-policy') ?? '', `style-src '${STYLE_HASH}'`);
  t.ok(answer.text.includes(`<style>${STYLE}</style>`));
  t.notMatch(answer.text, /<script|\son\w+=|style="/);
});

t.test('a path that is not there is a page with status 404', async (t) => {
  for (const path of [
    '/admin',
    '/login/',
    '/login/callback',
    '/login/callback/',
    '/login/callback/globex',
    '//',
    '/login/../',
    '/__proto__',
    '/Login',
    '/login%2f',
  ]) {
    const answer = await createFakePortal().browser().get(path);
    t.equal(answer.status, 404, path);
    t.match(answer.text, 'There is no such page');
  }
});

t.test('a method that a page does not know is refused, and the answer names those it does', async (t) => {
  const browser = createFakePortal().browser();
  const posted = await browser.post('/login', {});
  t.equal(posted.status, 405);
  t.equal(headerOf(posted, 'allow'), 'GET, HEAD');
  const got = await browser.get('/logout');
  t.equal(got.status, 405);
  t.equal(headerOf(got, 'allow'), 'POST');
});

t.test('under another host name there is nothing but the way to the right one', async (t) => {
  const browser = createFakePortal().browser();
  for (const host of ['k8s.example.com', 'login.example.com:8443', 'login.example.com.evil.com', '']) {
    const answer = await browser.get('/login', { headers: [['host', host]] });
    t.equal(answer.status, 421, host);
    t.match(answer.text, 'href="https://login.example.com/"');
    t.equal(headerOf(answer, 'set-cookie'), undefined);
  }
  t.equal((await browser.get('/login', { headers: [['host', 'LOGIN.example.com']] })).status, 200);
});

t.test('an error nobody foresaw is a page with its number in the log, and no detail', async (t) => {
  const portal = createFakePortal({
    identities: {
      authenticate: async () => {
        throw new Error('the secret detail');
      },
      describe: () => {
        throw new Error('the secret detail');
      },
    },
  });
  const answer = await portal.browser().signIn();
  t.equal(answer.status, 500);
  t.notMatch(answer.text, 'secret detail');
  const [entry] = portal.logged.filter(({ fields }) => fields.error instanceof Error);
  t.match(answer.text, String(entry?.fields.id));
});

t.test('HEAD gets what GET gets, without the body', async (t) => {
  const browser = createFakePortal().browser();
  const [got, head] = [await browser.get('/icon.svg'), await browser.head('/icon.svg')];
  t.equal(head.status, 200);
  t.equal(head.text, '');
  t.same(head.headers, got.headers);
});

t.test('a client that has left is answered nothing', async (t) => {
  const { serve } = createFakePortal();
  const exchange = fakeExchange({ target: '/login', headers: [['host', 'login.example.com']] });
  exchange.leave();
  await serve(exchange);
  t.equal(exchange.response.status, 0);
});
