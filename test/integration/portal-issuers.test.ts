/**
 * Two issuers at one portal: a real one that does not name itself in its responses, and a hostile one that
 * sends browsers on to it. The portal is put together as `stonegate serve` does it. RFC 9700 §4.4.
 */
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { freePort } from '../support/free-port.ts';
import { startOidcProvider } from '../support/oidc/provider.ts';
import { browse } from '../support/oidc/scripted-browser.ts';
import { startScriptedProvider } from '../support/oidc/scripted-provider.ts';
import { startStonegate } from '../support/stonegate.ts';

const CAROL = { user: 'carol', password: 'carol-pass' };
const CLIENT = { clientID: 'portal', clientSecret: 'portal-client-secret' };

interface Answer {
  readonly status: number;
  readonly location: string;
  readonly body: string;
}

async function setUp(t: Test) {
  const port = await freePort();
  const home = `https://localhost:${port}`;
  const honest = await startOidcProvider({
    users: { carol: { password: CAROL.password, claims: {} } },
    sites: [{ ...CLIENT, redirectURI: `${home}/login/callback/honest` }],
    namesItself: false,
  });
  const hostile = await startScriptedProvider();
  const issuers = Object.entries({ honest, hostile }).map(([name, { issuer }]) => ({ name, issuer }));
  const jwt = issuers.map(({ name, issuer }) => ({
    issuer: { url: issuer, audiences: [CLIENT.clientID] },
    claimMappings: { username: { claim: 'sub', prefix: `${name}:` } },
    tenant: { value: 'acme' },
  }));
  const oidc = issuers.map(({ name, issuer }) => ({
    name,
    issuer,
    // The same client at both: what a hostile issuer would ask to be registered as.
    clientID: CLIENT.clientID,
    clientSecret: { fromFile: 'portal-client-secret' },
    displayName: name,
  }));
  const stonegate = await startStonegate(t, {
    portal: { port },
    configuration: { authentication: { jwt }, portal: { oidc } },
  });
  t.teardown(() => Promise.all([honest.close(), hostile.close()]));
  const get = createVisitor(home, stonegate.authority.cert);
  const begin = async (name: string) => new URL((await get(`/login/oidc?provider=${name}`)).location);
  /** What a hostile issuer answers with: the same question, to the honest one. */
  const passOn = (question: URL, changes: Readonly<Record<string, string>> = {}): string => {
    const passedOn = new URL(`${honest.issuer}/auth${question.search}`);
    for (const [name, value] of Object.entries(changes)) passedOn.searchParams.set(name, value);
    return passedOn.href;
  };
  const comeBack = ({ url }: { readonly url: string }) => get(url.slice(home.length));
  return { home, hostile, get, begin, passOn, comeBack };
}

function createVisitor(home: string, ca: string): (path: string) => Promise<Answer> {
  const cookies = new Map<string, string>();
  return (path) =>
    new Promise((resolve, reject) => {
      const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
      const sent = request(`${home}${path}`, { headers: { cookie }, ca, agent: false }, (response) => {
        for (const line of response.headers['set-cookie'] ?? []) {
          const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split('=');
          if (line.includes('Max-Age=0')) cookies.delete(name);
          else cookies.set(name, value);
        }
        const { statusCode: status = 0, headers } = response;
        text(response).then((body) => resolve({ status, location: headers.location ?? '', body }), reject);
      });
      sent.on('error', reject);
      sent.end();
    });
}

t.test('a user who signs in with the honest issuer is signed in', async (t) => {
  const { home, get, begin, comeBack } = await setUp(t);
  const back = await browse((await begin('honest')).href, CAROL, home);
  t.match(back.url, `${home}/login/callback/honest?`);
  t.notMatch(back.url, 'iss=', 'it does not say whose answer it is');
  t.match(await comeBack(back), { status: 303, location: '/' });
  t.match((await get('/')).body, 'honest:carol');
});

t.test('a sign-in that the hostile issuer sends on is refused by the honest one as it is', async (t) => {
  const { home, hostile, begin, passOn } = await setUp(t);
  const page = await browse(passOn(await begin('hostile')), CAROL, home);
  t.match(page, { status: 400, text: /redirect_uri/ });
  t.same(hostile.asked, []);
});

t.test(
  'an authorization request with the honest issuer’s redirect URI returns there, and the code is not redeemed',
  async (t) => {
    const { home, hostile, get, begin, passOn, comeBack } = await setUp(t);
    const question = await begin('hostile');
    t.equal(question.origin, hostile.issuer);
    const redirect_uri = `${home}/login/callback/honest`;
    const back = await browse(passOn(question, { redirect_uri }), CAROL, home);
    t.match(back.url, `${redirect_uri}?code=`, 'the honest issuer suspects nothing');
    const answer = await comeBack(back);
    t.match(answer, { status: 400, body: /This response belongs to another sign-in/ });
    t.same(hostile.asked, [], 'the hostile issuer is given neither code nor verifier');
    t.equal((await get('/')).location, '/login', 'no user is signed in');
  },
);
