/** The rates of users and tenants, and the memory of responses, count for the portal as for the API. */
import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { ResponseMemory } from '../../../../src/limits/response-memory.ts';
import type { LimitedAccount } from '../../../../src/proxy/limiter.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { headerOf, signedIn } from '../../../support/portal.ts';
import { PAGE_SOURCES, pageSources } from '../../../support/portal-pages.ts';

const FLASH = '__Host-stonegate-flash';
const TOKEN = { do: 'create', level: 'session', days: '1', description: '<the nightly "report">' };

/** A user at the portal, and what was charged. */
async function setUp() {
  const charged: string[] = [];
  const world = { isExceeded: false };
  const limiter = {
    admit({ tenant, user }: LimitedAccount, info: { verb: string; isResourceRequest: boolean }) {
      const message = 'Too many requests, please try again later: "acme:alice"';
      if (world.isExceeded)
        throw new StatusError('UserRateExceeded', message, { details: { retryAfterSeconds: 7 } });
      charged.push(`${tenant} ${user.username} ${info.verb} ${info.isResourceRequest}`);
      return undefined;
    },
  };
  const { portal, browser } = await signedIn({ ...PAGE_SOURCES, limiter });
  return { portal, browser, charged, world };
}

const LIST = 'acme acme:alice list true';
const WRITE = 'acme acme:alice create true';

t.test('a page is charged to the user and the tenant like what it stands for', async (t) => {
  const { browser, charged } = await setUp();
  for (const path of ['/', '/kubeconfig', '/tokens', '/teams', '/members?namespace=shop', '/members'])
    t.equal(await browser.status(path), 200);
  t.same(charged, Array(6).fill(LIST));
});

t.test('signing in and out, redirects, files and what is refused for its origin cost nothing', async (t) => {
  const { browser, charged } = await setUp();
  await browser.get('/icon.svg');
  await browser.get('/login');
  await browser.get('/invitation/sgi_abcd1234secret');
  await browser.post('/tokens', TOKEN, { origin: 'https://evil.example' });
  t.equal((await browser.post('/logout', {})).status, 403);
  browser.cookies.clear();
  t.equal(await browser.status('/tokens'), 303);
  t.same(charged, []);
});

t.test('a form that is done is charged once, with the page that says so', async (t) => {
  const { browser, charged } = await setUp();
  await browser.get('/tokens');
  charged.length = 0;
  t.equal((await browser.submit('/tokens', TOKEN)).status, 303);
  const flash = browser.cookies.get(FLASH) ?? '';
  t.match(await browser.text('/tokens'), 'Copy the token now');
  t.same(charged, [WRITE]);
  for (const again of [flash, `${flash}=`]) {
    browser.cookies.set(FLASH, again);
    await browser.get('/tokens');
  }
  t.same(charged, [WRITE, LIST, LIST], 'a browser that sends the message again pays');
});

t.test('a form that is refused is charged once', async (t) => {
  const { browser, charged } = await setUp();
  await browser.get('/tokens');
  charged.length = 0;
  for (const fields of [{ ...TOKEN, days: '0' }, { do: 'unknown' }])
    t.equal((await browser.submit('/tokens', fields)).status, 422);
  t.same(charged, [WRITE, LIST]);
});

t.test('beyond the rate a page says when to try again', async (t) => {
  const { portal, browser, world } = await setUp();
  world.isExceeded = true;
  const pages = '/ /kubeconfig /access /quota /tokens /members?namespace=shop /teams /invitation';
  for (const path of pages.split(' ')) {
    const page = await browser.get(path);
    t.equal(page.status, 429, path);
    t.equal(headerOf(page, 'retry-after'), '7', path);
    t.match(page.text, /Too many requests, please try again later: &quot;acme:alice&quot;/);
    t.match(page.text, 'Sign out', 'which is possible all the same');
    t.match(portal.observed.at(-1), { outcome: { status: 429, code: 'UserRateExceeded' } }, path);
  }
  t.match(await browser.text('/members?namespace=shop'), 'href="/members?namespace=shop">Try again');
});

t.test('beyond the rate nothing is done, and what was entered stays', async (t) => {
  const { browser, charged, world } = await setUp();
  await browser.get('/tokens');
  charged.length = 0;
  world.isExceeded = true;
  const refused = await browser.submit('/tokens', TOKEN);
  t.equal(refused.status, 429);
  t.equal(headerOf(refused, 'retry-after'), '7');
  t.notOk(browser.cookies.has(FLASH));
  const [, form = ''] = /<form method="post" action="\/tokens">(.*?)<\/form>/s.exec(refused.text) ?? [];
  t.match(form, '>Try again</button>');
  t.match(form, 'name="description" value="&lt;the nightly &quot;report&quot;&gt;"');
  const fields = new Map(
    Array.from(form.matchAll(/name="([^"]+)" value="([^"]*)"/g), ([, name, value]) => [name, value]),
  );
  world.isExceeded = false;
  const again = { ...TOKEN, token: fields.get('token') ?? '', level: fields.get('level') ?? '' };
  t.equal((await browser.post('/tokens', again)).status, 303, 'the button sends it again');
  t.same(charged, [WRITE]);
});

t.test('pages for clients that do not read take no more than the memory of their tenant', async (t) => {
  const responseMemory = new ResponseMemory({ total: 1_000_000, perKey: 1_000_000 });
  const { portal, browser } = await signedIn({ ...pageSources({ members: 300 }), responseMemory });
  const ask = async () => {
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = [['host', 'login.example.com'] as const, ['cookie', cookie] as const];
    const exchange = fakeExchange({ target: '/members?namespace=shop', headers });
    const drained: (() => void)[] = [];
    exchange.response.write = () => false;
    exchange.response.onDrain = (callback) => void drained.push(callback);
    await portal.serve(exchange);
    return { exchange, drained };
  };
  const stuck = [];
  while (stuck.length < 30) {
    const asked = await ask();
    if (asked.exchange.response.status !== 200) {
      t.equal(asked.exchange.response.status, 429);
      break;
    }
    stuck.push(asked);
  }
  t.ok(stuck.length > 1 && stuck.length < 30, `${stuck.length} pages wait`);
  t.ok(responseMemory.reserved > 500_000 && responseMemory.reserved <= 1_000_000);
  const [first, ...others] = stuck;
  first?.exchange.leave();
  t.equal((await ask()).exchange.response.status, 200, 'a client that is gone makes room');
  t.match(portal.observed.at(-2), { outcome: { status: 429, code: 'TenantRateExceeded' } });
  for (const { exchange, drained } of others) {
    exchange.response.write = () => true;
    for (const callback of drained) callback();
  }
  t.ok(responseMemory.reserved < 500_000, 'and so does one that has read its page');
});
