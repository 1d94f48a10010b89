/**
 * `stonegate login --oidc` as kubectl runs it, at a real OpenID provider, through Stonegate to the API
 * server.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createKubectl, findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { hasChromium, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import {
  type Environment,
  hasTerminal,
  loginKubeconfig,
  NO_TERMINAL,
  runLogin,
  runLoginOnTerminal,
} from '../support/login-process.ts';
import { browse, type LoginUser } from '../support/oidc/scripted-browser.ts';
import { startStonegate } from '../support/stonegate.ts';

const KUBECTLS = findKubectls();
const NEWEST = KUBECTLS.at(-1) ?? '';
const CAROL = { user: 'carol', password: 'carol-pass' };
const folder = t.testdir();
const stonegate = await startStonegate(t, { folder: join(folder, 'stonegate') });
const { provider } = stonegate;

// This provider issues refresh tokens only to clients that ask for consent (OpenID Connect Core 1.0 §11).
const WORDS = [
  ...['--oidc', '--issuer-url', provider.issuer, '--client-id', provider.clientID],
  ...['--extra-param', 'prompt=consent'],
];

let homes = 0;

type LoginEnvironment = ReturnType<typeof newLoginEnvironment>;

/** A user with a home directory and a screen, whose `xdg-open` hands the address to the test. */
function newLoginEnvironment() {
  homes += 1;
  const home = join(folder, `home-${homes}`);
  mkdirSync(join(home, 'bin'), { recursive: true });
  const note = join(home, 'page');
  const opener = join(home, 'bin', 'xdg-open');
  writeFileSync(opener, `#!/bin/sh\nprintf '%s' "$1" > '${note}.part' && mv '${note}.part' '${note}'\n`);
  chmodSync(opener, 0o700);
  const path = [join(home, 'bin'), process.env.PATH ?? ''].join(':');
  const env = { HOME: home, DISPLAY: ':0', PATH: path, NODE_NO_WARNINGS: '1' };
  const cache = join(home, '.cache', 'stonegate');
  const file = () => join(cache, readdirSync(cache).find((name) => name.endsWith('.json')) ?? 'none');
  let opened = 0;
  return {
    env,
    /** How often a browser was opened. */
    get opened() {
      return opened + (existsSync(note) ? 1 : 0);
    },
    /** The address for the browser, once it is opened; reading it removes it. */
    async page() {
      await eventually(() => existsSync(note));
      opened += 1;
      const address = readFileSync(note, 'utf8');
      rmSync(note);
      return address;
    },
    /** What is stored between two calls. */
    cached: () => JSON.parse(readFileSync(file(), 'utf8')),
    /** Makes the cached token expired. */
    expire() {
      writeFileSync(file(), JSON.stringify({ ...this.cached(), expiresAt: Date.now() - 1 }));
    },
  };
}

function kubectlOf(t: Test, binary: string, env: Environment) {
  const { url: server, authority } = stonegate;
  const kubectl = createKubectl(t, binary, { server, ca: authority.cert, token: 'overridden' });
  const config = join(kubectl.folder, 'with-login');
  writeFileSync(config, loginKubeconfig({ server, ca: authority.cert, words: WORDS, env }));
  return (...words: string[]) => kubectl.run(['--kubeconfig', config, ...words]);
}

/** Awaits `work` while a user logs in with the browser that it opens. */
async function during<T>(work: Promise<T>, home: LoginEnvironment, user: LoginUser) {
  await browse(await home.page(), user);
  return work;
}

t.test('kubectl logs in by itself', { skip: KUBECTLS.length === 0 && NO_KUBECTL }, async (t) => {
  for (const binary of KUBECTLS)
    await t.test(`${binary.split('/').at(-1)}`, async (t) => {
      const home = newLoginEnvironment();
      const pods = kubectlOf(t, binary, home.env)('get', 'pods', '-o', 'name');
      const { code, stdout } = await during(pods, home, CAROL);
      t.same([code, stdout], [0, 'pod/web\n']);
    });

  await t.test('a token that is about to expire is renewed without the user', async (t) => {
    const home = newLoginEnvironment();
    const kubectl = kubectlOf(t, NEWEST, home.env);
    await during(kubectl('get', 'pods'), home, CAROL);
    const before = home.cached();
    home.expire();
    const pods = await kubectl('get', 'pods', '-o', 'name');
    t.same(pods, { code: 0, stdout: 'pod/web\n', stderr: '' });
    t.equal(home.opened, 1);
    t.not(home.cached().refreshToken, before.refreshToken, 'the rotated refresh token is stored');
  });

  await t.test('after the refresh token was revoked, the user logs in again', async (t) => {
    const home = newLoginEnvironment();
    const kubectl = kubectlOf(t, NEWEST, home.env);
    await during(kubectl('get', 'pods'), home, CAROL);
    const body = new URLSearchParams({ token: home.cached().refreshToken, client_id: provider.clientID });
    await fetch(`${provider.issuer}/token/revocation`, { method: 'POST', body });
    home.expire();
    const { code, stderr } = await during(kubectl('get', 'pods'), home, CAROL);
    t.equal(code, 0);
    t.match(stderr, /The last login has ended \(.*invalid_grant.*\)\. Logging in again\./);
  });
});

t.test('logout forgets the token and revokes the refresh token at the provider', async (t) => {
  const home = newLoginEnvironment();
  await during(runLogin(WORDS, home.env), home, CAROL);
  const { refreshToken } = home.cached();
  const { code, stdout } = await runLogin(WORDS, home.env, 'logout');
  t.equal(code, 0);
  t.match(stdout, /^logged out: carol\S* at \S+; the token stays valid until 20\S+Z\n$/);
  const grant = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: provider.clientID };
  const response = await fetch(`${provider.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams(grant),
  });
  t.match(await response.json(), { error: 'invalid_grant' });
});

t.test('nothing secret is in the process list or on standard error', async (t) => {
  const home = newLoginEnvironment();
  const login = runLogin(WORDS, home.env);
  const address = await home.page();
  await browse(address, CAROL);
  const { code, stdout, stderr } = await login;
  t.equal(code, 0);
  const { token, refreshToken } = home.cached();
  t.equal(JSON.parse(stdout).status.token, token);
  t.notMatch(stdout, refreshToken, 'kubectl does not get the refresh token');
  for (const secret of [token, refreshToken, 'verifier']) t.notMatch(`${stderr}${address}`, secret);
});

t.test('C255 the provider refuses: exit 1, a message, and nothing on standard output', async (t) => {
  const home = newLoginEnvironment();
  const { code, stdout, stderr } = await during(runLogin(WORDS, home.env), home, 'cancel');
  t.same([code, stdout], [1, '']);
  t.match(stderr, /^stonegate login: .*access_denied/m);
});

t.test('C256 no screen and no terminal: a clear error, no prompt, no hang', async (t) => {
  const { code, stdout, stderr } = await runLogin(WORDS, { ...newLoginEnvironment().env, DISPLAY: '' });
  t.same([code, stdout], [1, '']);
  t.match(stderr, /^stonegate login: no browser can be opened, and there is no terminal/);
  t.match(
    stderr,
    `kubectl again: stonegate login ${WORDS.join(' ')} >/dev/null\n`,
    'the error says what to type',
  );
});

t.test(
  'no screen, but a terminal: a code for another device',
  { skip: !hasTerminal() && NO_TERMINAL },
  async (t) => {
    const stdout = join(folder, 'device.json');
    const login = runLoginOnTerminal(WORDS, { ...newLoginEnvironment().env, DISPLAY: '' }, stdout);
    await login.sees('or open the page with the code in it: ');
    await eventually(() => /with the code in it: \S+\r?\n/.test(login.screen));
    await browse(/with the code in it: (\S+)/.exec(login.screen)?.[1] ?? '', CAROL);
    t.equal(await login.ended, 0, login.screen);
    t.match(JSON.parse(readFileSync(stdout, 'utf8')), { status: { token: /^ey/ } });
  },
);

t.test('a user logs in with a real browser', { skip: !hasChromium() && NO_CHROMIUM }, async (t) => {
  const chromium = await launchChromium();
  t.teardown(() => chromium.close());
  const page = await chromium.newPage();
  const home = newLoginEnvironment();
  const login = runLogin(WORDS, home.env);
  await page.goto(await home.page());

  await page.getByLabel('User').fill('carol');
  await page.getByLabel('Password').fill('wrong');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('Wrong user or password.').waitFor();

  await page.getByLabel('User').fill('carol');
  await page.getByLabel('Password').fill('carol-pass');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Logged in' }).waitFor();
  t.match(await page.title(), 'Logged in');
  const { code, stdout } = await login;
  t.equal(code, 0);
  t.match(JSON.parse(stdout), { kind: 'ExecCredential', status: { token: home.cached().token } });
});
