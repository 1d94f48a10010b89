import { readFileSync } from 'node:fs';
import t from 'tap';
import { COPY_SCRIPT, COPY_SCRIPT_HASH } from '../../../../src/features/portal/copy-script.ts';
import { STYLE, STYLE_HASH } from '../../../../src/features/portal/style.ts';
import { createFakePortal, headerOf, ORIGIN, signedIn } from '../../../support/portal.ts';
import { PAGE_SOURCES } from '../../../support/portal-pages.ts';
import { eachRow } from '../../../support/rows.ts';

const PAGES = ['/', '/login', '/no-such-page', '/icon.svg', '/kubeconfig', '/login/callback/acme'];

t.test('every response forbids scripts but one, frames, content sniffing and caching', async (t) => {
  const browser = createFakePortal().browser();
  for (const path of PAGES) {
    const response = await browser.get(path);
    const policy = headerOf(response, 'content-security-policy') ?? '';
    for (const directive of [
      "default-src 'none'",
      `script-src '${COPY_SCRIPT_HASH}';`,
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
      t.match(policy, directive, path);
    t.notMatch(policy, /unsafe|\*|https?:/, path);
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

t.test('the Content-Security-Policy allows style sheet and script of the page by their hashes', async (t) => {
  const { browser } = await signedIn(PAGE_SOURCES);
  for (const path of ['/login', '/', '/tokens', '/members?namespace=shop', '/teams', '/no-such-page']) {
    const { text, headers } = await browser.get(path);
    const policy = new Map(headers).get('Content-Security-Policy') ?? '';
    t.match(policy, `style-src '${STYLE_HASH}'`);
    t.ok(text.includes(`<style>${STYLE}</style>`));
    t.same(text.match(/<script.*?<\/script>/gs), [`<script>${COPY_SCRIPT}</script>`], path);
    t.notMatch(text.replace(COPY_SCRIPT, ''), /\son\w+=|style="|javascript:/, path);
  }
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
  t.equal(await browser.status('/login', { headers: [['host', 'LOGIN.example.com']] }), 200);
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

const CLIENT = { file: Buffer.from('the client'), sha256: 'ab'.repeat(32) };

t.test('the client is served to every program, and the page says how to install it', async (t) => {
  const { browser } = createFakePortal({ client: CLIENT });
  const { status, text, headers } = await browser().get('/stonegate.cjs');
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
  const page = (await alice.text('/')).replaceAll('<wbr>', '');
  t.match(page, `<code>${CLIENT.sha256}</code>`);
  const install = 'sudo install -m 755 stonegate.cjs /usr/local/bin/stonegate<';
  t.match(page, `curl -fO ${ORIGIN}/stonegate.cjs &amp;&amp;\n  ${install}`);
  const { engines }: { engines: { node: string } } = JSON.parse(readFileSync('package.json', 'utf8'));
  t.match(page, `It needs Node ${engines.node.replace('>=', '')} or newer.`);
});

t.test('without a build the page offers no client', async (t) => {
  const alice = createFakePortal().browser();
  t.equal(await alice.status('/stonegate.cjs'), 404);
  await alice.signIn();
  t.notMatch(await alice.text('/'), /stonegate\.cjs|Executables/);
});

const COMMAND_URL = 'https://example.com/v{version}/stonegate-{version}-{platform}';
const MOZILLA = 'Mozilla/5.0';

t.test('the page offers the executable for the system of the browser first', async (t) => {
  const { browser: alice } = await signedIn({ client: CLIENT, commandURL: COMMAND_URL });
  await eachRow(
    `
    ${MOZILLA} (Windows NT 10.0; Win64; x64)        |           | win-x64.exe
    ${MOZILLA} (Macintosh; Intel Mac OS X 10_15_7)  |           | darwin-arm64
    ${MOZILLA} (X11; Linux x86_64)                  |           | linux-x64
    ${MOZILLA} (X11; Linux aarch64)                 |           | linux-arm64
                                                  - | "Windows" | win-x64.exe
                                                  - | "macOS"   | darwin-arm64`,
    async (agent, hint, first) => {
      const headers = [['user-agent', agent] as const, ['sec-ch-ua-platform', hint] as const];
      const text = (await alice.text('/', { headers })).replaceAll('<wbr>', '');
      const offered = text.matchAll(/https:\/\/example\.com\/v1\.2\.3\/stonegate-1\.2\.3-([\w.-]+)/g);
      const platforms = Array.from(offered, ([, platform]) => platform);
      t.equal(platforms[0], first, `${agent} ${hint}`);
      t.equal(new Set(platforms).size, 5, 'the others are there too');
      t.ok(
        text.indexOf('stonegate-1.2.3-') < text.indexOf('stonegate.cjs'),
        'before the one that needs Node',
      );
    },
  );
});

t.test('a phone, or an unknown system, gets the list of executables', async (t) => {
  const { browser: alice } = await signedIn({ commandURL: COMMAND_URL });
  for (const agent of [
    `${MOZILLA} (Linux; Android 10; K)`,
    `${MOZILLA} (iPhone; CPU iPhone OS 17_0 like Mac OS X)`,
    '',
  ]) {
    const text = (await alice.text('/', { headers: [['user-agent', agent]] })).replaceAll('<wbr>', '');
    t.match(text, '<p>For your system:</p>', agent);
    t.equal(text.match(/stonegate-1\.2\.3-/g)?.length, 5);
  }
});

t.test('a commandURL without a place for the system is a link to a page', async (t) => {
  const { browser: alice } = await signedIn({ commandURL: 'https://example.com/a&b' });
  t.match(
    await alice.text('/'),
    '<a class="button stretch" href="https://example.com/a&amp;b">Executables</a>',
  );
});

t.test('no command that a page shows redirects into a file or moves one', async (t) => {
  const { browser: alice } = await signedIn({ ...PAGE_SOURCES, client: CLIENT, commandURL: COMMAND_URL });
  await alice.get('/tokens');
  await alice.submit('/tokens', { do: 'create', as: 'text', level: 'session', days: '1' });
  const shown: string[] = [];
  for (const path of ['/tokens', '/', '/members?namespace=shop', '/teams', '/quota', '/access'])
    for (const [, text = ''] of (await alice.text(path))
      .replaceAll('<wbr>', '')
      .matchAll(/<pre[^>]*>([^<]*)<\/pre>/g))
      shown.push(text);
  t.ok(shown.includes('stonegate kubeconfig --server https://k8s.example.com'), shown.join('\n'));
  for (const command of shown) t.notMatch(command, /&gt;|[|]|\b(?:mv|cp|tee|rm|dd)\b/);
});
