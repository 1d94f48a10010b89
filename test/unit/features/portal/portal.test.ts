import { readFileSync } from 'node:fs';
import t from 'tap';
import { STYLE, STYLE_HASH } from '../../../../src/features/portal/assets.ts';
import { createFakePortal, headerOf, ORIGIN } from '../../../support/portal.ts';

const PAGES = ['/', '/login', '/no-such-page', '/icon.svg', '/kubeconfig', '/login/callback/acme'];

t.test('every response forbids scripts, frames, content sniffing and caching', async (t) => {
  const browser = createFakePortal().browser();
  for (const path of PAGES) {
    const response = await browser.get(path);
    const policy = headerOf(response, 'content-security-policy') ?? '';
    for (const directive of [
      "default-src 'none'",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
      t.match(policy, directive, path);
    t.notMatch(policy, /script-src|unsafe|\*|https?:/, path);
    t.match(Object.fromEntries(response.headers), {
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'same-origin',
      'Cache-Control': 'no-store',
      'Strict-Transport-Security': /^max-age=\d{8}/,
      'Cross-Origin-Opener-Policy': 'same-origin',
    });
  }
});

t.test('the Content-Security-Policy allows the style sheet of the page by its hash', async (t) => {
  const response = await createFakePortal().browser().get('/login');
  t.match(headerOf(response, 'content-security-policy') ?? '', `style-src '${STYLE_HASH}'`);
  t.ok(response.text.includes(`<style>${STYLE}</style>`));
  t.notMatch(response.text, /<script|\son\w+=|style="/);
});

t.test('an unknown path is a page with status 404', async (t) => {
  for (const path of ['/admin', '/login/callback/globex', '/login/../', '/__proto__', '/login%2f']) {
    const response = await createFakePortal().browser().get(path);
    t.equal(response.status, 404, path);
    t.match(response.text, 'There is no such page');
  }
});

t.test('an unsupported method is refused, and the response names the supported ones', async (t) => {
  const browser = createFakePortal().browser();
  const posted = await browser.post('/login', {});
  t.equal(posted.status, 405);
  t.equal(headerOf(posted, 'allow'), 'GET, HEAD');
  const got = await browser.get('/logout');
  t.equal(got.status, 405);
  t.equal(headerOf(got, 'allow'), 'POST');
});

t.test('under another host name there is only a link to the right one', async (t) => {
  const browser = createFakePortal().browser();
  for (const host of ['k8s.example.com', 'login.example.com:8443', 'login.example.com.evil.com', '']) {
    const response = await browser.get('/login', { headers: [['host', host]] });
    t.equal(response.status, 421, host);
    t.match(response.text, 'href="https://login.example.com/"');
    t.equal(headerOf(response, 'set-cookie'), undefined);
  }
  t.equal((await browser.get('/login', { headers: [['host', 'LOGIN.example.com']] })).status, 200);
});

t.test('an unexpected error is a page with the ID of its log entry, and no detail', async (t) => {
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
  const response = await portal.browser().signIn();
  t.equal(response.status, 500);
  t.notMatch(response.text, 'secret detail');
  const observed = portal.observed.at(-1);
  t.match(observed?.outcome, { code: 'InternalError', error: new Error('the secret detail') });
  t.match(response.text, observed?.auditID);
});

t.test('the client is served to every program, and the page says how to install it', async (t) => {
  const client = { file: Buffer.from('the client'), sha256: 'ab'.repeat(32) };
  const commandURL = 'https://example.com/releases?a=1&b';
  const { browser } = createFakePortal({ client, commandURL });
  const curl = browser();
  const { status, text, headers } = await curl.get('/stonegate.cjs');
  t.match({ status, text }, { status: 200, text: 'the client' });
  t.same(
    headers.filter(([name]) => name === 'Content-Type' || name === 'Content-Length'),
    [
      ['Content-Type', 'application/octet-stream'],
      ['Content-Length', '10'],
    ],
  );
  const alice = browser();
  await alice.signIn();
  const page = (await alice.get('/')).text;
  t.match(page, `<code>${client.sha256}</code>`);
  t.match(
    page,
    `curl -fO ${ORIGIN}/stonegate.cjs\nsudo install -m 755 stonegate.cjs /usr/local/bin/stonegate<`,
  );
  t.match(page, 'href="https://example.com/releases?a=1&amp;b"');
  const { engines }: { engines: { node: string } } = JSON.parse(readFileSync('package.json', 'utf8'));
  t.match(page, `It needs Node ${engines.node.replace('>=', '')} or newer.`);
});

t.test('without a build the page offers no client', async (t) => {
  const alice = createFakePortal().browser();
  t.equal((await alice.get('/stonegate.cjs')).status, 404);
  await alice.signIn();
  t.notMatch((await alice.get('/')).text, /stonegate\.cjs|Executables/);
});
