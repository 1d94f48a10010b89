/**
 * The portal in a real browser, with a real OpenID provider and the stand-in Keystone. Screenshots are
 * written to `artefacts/portal`.
 */
import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser, Locator, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { hasChromium, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { assertShown, openWindow } from '../support/page/visit-page.ts';
import { startStonegate } from '../support/stonegate.ts';

const run = promisify(execFile);
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const ALICE = { user: 'alice', password: 'alice-pass', domain: 'acme', project: 'web' };

async function startPortal(t: Test, changes: object = {}, others: Record<string, object> = {}) {
  const port = await freePort();
  const unlimited = { perSecond: 100, burst: 100 };
  const signInLimits = { perSource: unlimited, perUser: unlimited };
  const configuration = { ...others, portal: { signInLimits, ...changes } };
  const stonegate = await startStonegate(t, { portal: { port }, configuration });
  const { directory } = stonegate.keystone;
  directory.assign(directory.user('acme', 'alice'), 'reader', {
    project: directory.project('acme', 'batch'),
  });
  return { url: `https://localhost:${port}`, stonegate };
}

const missing = hasChromium() ? false : NO_CHROMIUM;
const browser: Browser | undefined = missing === false ? await launchChromium() : undefined;
t.teardown(() => browser?.close());
const portal = await startPortal(t);

const launched = () => {
  if (browser === undefined) throw new Error(NO_CHROMIUM);
  return browser;
};

/** Opens the start page in a new window without scripts. Errors in the browser's console fail the test. */
async function visit(t: Test, act: (page: Page) => Promise<void>, { url } = portal) {
  const page = await openWindow(t, launched());
  const errors: string[] = [];
  page.on('console', (message) => {
    // The browser also logs expected refusals; the provider's own pages do not count.
    const ours = message.location().url.startsWith(url);
    if (ours && !/status of [45]\d\d/.test(message.text())) errors.push(message.text());
  });
  await page.goto(`${url}/`);
  await act(page);
  t.same(errors, [], 'the console has no errors');
}

/** Takes screenshots of the page in all views, and checks each for faults. */
const shown = async (t: Test, page: Page, name: string) =>
  assertShown(t, launched(), name, await page.content());

/** Clicks, and waits until the page it leads to is loaded: a click alone does not wait for that. */
async function follow(page: Page, locator: Locator) {
  await Promise.all([page.waitForEvent('load'), locator.click()]);
}

/** Clicks the link to the kubeconfig and saves the download. */
async function downloadKubeconfig(page: Page, file: string) {
  const link = page.getByRole('link', { name: 'Download kubeconfig' });
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  await download.saveAs(file);
  return download.suggestedFilename();
}

async function signInWithKeystone(page: Page, changes: Partial<typeof ALICE> = {}) {
  const { user, password, domain, project } = { ...ALICE, ...changes };
  await page.getByLabel('User name').fill(user);
  await page.getByLabel('Password').fill(password);
  await page.getByLabel('Domain').fill(domain);
  await page.getByLabel('Project').fill(project);
  await follow(page, page.getByRole('button', { name: 'Sign in' }));
}

async function signInAtProvider(page: Page) {
  await follow(page, page.getByRole('link', { name: 'Continue with Acme' }));
  await page.getByLabel('User').fill('carol');
  await page.getByLabel('Password').fill('carol-pass');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Who you are to Kubernetes' }).waitFor();
}

const pathOf = (page: Page) => new URL(page.url()).pathname;

t.test('a user signs in with Keystone, sees the account page, and signs out', { skip: missing }, (t) =>
  visit(t, async (page) => {
    t.equal(pathOf(page), '/login');
    await shown(t, page, 'sign-in');
    await signInWithKeystone(page);
    t.equal(pathOf(page), '/');
    const text = await page.textContent('main');
    for (const fact of ['alice', 'acme', 'acme:alice', 'web', 'member', 'batch', 'keystone:project:'])
      t.match(text, fact);
    await shown(t, page, 'account');
    const cookies = await page.context().cookies();
    t.match(cookies, [
      { name: '__Host-stonegate', httpOnly: true, secure: true, sameSite: 'Lax', path: '/' },
    ]);
    t.same(
      cookies.map(({ name }) => name).sort(),
      ['__Host-stonegate', '__Host-stonegate-keystone'],
      'no other cookie is left',
    );
    await follow(page, page.getByRole('button', { name: 'Sign out' }));
    t.match(await page.textContent('main'), 'You have signed out.');
    const left = await page.context().cookies();
    t.notMatch(JSON.stringify(left), /"__Host-stonegate(-keystone)?"/);
    await page.goto(`${portal.url}/`);
    t.equal(pathOf(page), '/login', 'the session has ended');
  }),
);

t.test('a user signs in with an OpenID provider', { skip: missing }, (t) =>
  visit(t, async (page) => {
    await signInAtProvider(page);
    const text = await page.textContent('main');
    for (const fact of [
      'oidc:carol@acme.example',
      'signed in with Acme',
      'acme:oidc:carol@acme.example',
      'oidc:developers',
    ])
      t.match(text, fact);
  }),
);

t.test(
  'a wrong password causes an error message, and the other fields stay filled in',
  { skip: missing },
  (t) =>
    visit(t, async (page) => {
      await signInWithKeystone(page, { password: 'not-the-password' });
      t.equal(await page.title(), 'Error: Sign in – Stonegate');
      t.match(await page.getByRole('alert').textContent(), /does not accept this/);
      t.equal(
        await page.evaluate('document.activeElement.getAttribute("role")'),
        'alert',
        'a screen reader announces it first',
      );
      t.equal(await page.getByLabel('User name').inputValue(), 'alice');
      t.equal(await page.getByLabel('Password').inputValue(), '');
      await shown(t, page, 'wrong-password');
      await signInWithKeystone(page);
      t.equal(pathOf(page), '/', 'the second attempt succeeds');
    }),
);

t.test('an error of the provider is quoted', { skip: missing }, (t) =>
  visit(t, async (page) => {
    await follow(page, page.getByRole('link', { name: 'Continue with Acme' }));
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('did not sign you in').waitFor();
    const text = await page.textContent('main');
    t.match(text, 'Acme did not sign you in.');
    t.match(text, 'the user said no');
    await shown(t, page, 'provider-refuses');
    await follow(page, page.getByRole('link', { name: 'Sign in again' }));
    t.equal(pathOf(page), '/login');
  }),
);

t.test('a click on a button copies a command', { skip: missing }, async (t) => {
  const context = await launched().newContext({ ignoreHTTPSErrors: true });
  t.teardown(() => context.close());
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: portal.url });
  const page = await context.newPage();
  await page.goto(`${portal.url}/`);
  await signInWithKeystone(page);
  await page.getByTitle('Copy: Command to set up kubectl').click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  t.match(await page.evaluate('navigator.clipboard.readText()'), /^stonegate kubeconfig --server https:/);
});

t.test('everything works by keyboard', { skip: missing }, (t) =>
  visit(t, async (page) => {
    const { keyboard } = page;
    await keyboard.press('Tab');
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the content');
    await keyboard.press('Enter');
    t.equal(await page.evaluate('document.activeElement.id'), 'main');
    await keyboard.press('Tab');
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Continue with Acme');
    for (const value of [ALICE.user, ALICE.password, ALICE.domain, ALICE.project]) {
      await keyboard.press('Tab');
      await keyboard.type(value);
    }
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'alice' }).waitFor();
    const reached = () => page.evaluate('document.activeElement.textContent.trim().replace(/\\s+/g, " ")');
    for (const expected of ['Skip to the content', 'Stonegate', 'Account', 'Switch project: web']) {
      await keyboard.press('Tab');
      t.equal(await reached(), expected);
    }
    await keyboard.press('Enter');
    await keyboard.press('Tab');
    t.equal(await reached(), 'batch web');
    // Selects the project that begins with this letter.
    await keyboard.type('b');
    await keyboard.press('Tab');
    t.equal(await reached(), 'Switch');
    await keyboard.press('Enter');
    await page.getByText('any role on project batch').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Sign out' }).press('Enter');
    await page.getByText('You have signed out.').waitFor();
  }),
);

const kubectls = findKubectls();
const noKubectl = missing || (kubectls.length === 0 && NO_KUBECTL);
const OLD = 'current-context: old\ncontexts: [{ name: old, context: { cluster: old, user: old } }]\n';

/** A portal whose page names the address at which the API is served. */
async function startReachablePortal(t: Test) {
  const apiPort = await freePort();
  return startPortal(
    t,
    { kubernetes: { name: 'demo', server: `https://127.0.0.1:${apiPort}`, caFile: 'ca.crt' } },
    { server: { bind: `127.0.0.1:${apiPort}` } },
  );
}

/** The environment of a user's shell with `stonegate` on its path. */
function shellOf(home: string, password = '') {
  const command = `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`;
  writeFileSync(join(home, 'stonegate'), command, { mode: 0o700 });
  return { HOME: home, PATH: `${home}:${process.env.PATH}`, OS_PASSWORD: password };
}

t.test('the command of the page adds the cluster to a kubeconfig', { skip: noKubectl }, async (t) => {
  const own = await startReachablePortal(t);
  const { configFile, keystone } = own.stonegate;
  const openrc = {
    ...{ OS_AUTH_URL: keystone.url, OS_CACERT: join(dirname(configFile), 'ca.crt') },
    ...{ OS_USERNAME: 'alice', OS_USER_DOMAIN_NAME: 'acme' },
    ...{ OS_PROJECT_NAME: 'web', OS_PROJECT_DOMAIN_NAME: 'acme' },
  };
  for (const signIn of [signInWithKeystone, signInAtProvider])
    await t.test(signIn.name, (t) =>
      visit(
        t,
        async (page) => {
          const home = t.testdir({ '.kube': { config: OLD } });
          const file = join(home, '.kube', 'config');
          chmodSync(file, 0o600);
          const env = { ...shellOf(home, ALICE.password), ...openrc };
          await signIn(page);
          const command = await page.getByLabel('Command to set up kubectl').textContent();
          // Without a terminal nothing can be asked.
          const answer = signIn === signInWithKeystone ? ' --provider keystone' : '';
          await run('sh', ['-c', `${command}${answer}`], { cwd: home, env });
          t.equal(statSync(file).mode & 0o777, 0o600);
          const { contexts, ...rest } = parse(readFileSync(file, 'utf8'));
          t.equal(rest['current-context'], 'old');
          t.match(contexts, [{ name: 'old' }, { name: '127-0-0-1' }]);
          const tried = await page.getByLabel('Commands to try it').textContent();
          t.match(tried, /^kubectl --context 127-0-0-1 auth whoami\n/);
          if (signIn === signInAtProvider) return;
          const words = '--context 127-0-0-1 get configmap settings -o jsonpath={.data.owner}'.split(' ');
          t.equal((await run(kubectls.at(-1) ?? '', words, { env })).stdout, 'acme');
        },
        own,
      ),
    );
});

t.test('the commands of the page that fail leave a kubeconfig as it is', { skip: missing }, (t) =>
  visit(t, async (page) => {
    const home = t.testdir({ '.kube': { config: OLD } });
    const file = join(home, '.kube', 'config');
    chmodSync(file, 0o600);
    await signInWithKeystone(page);
    await page.getByText('Use a kubeconfig of its own instead').click();
    const commands = await page.locator('main pre').allTextContents();
    // The address of this portal's page leads nowhere, and kubectl fails too.
    const env = { ...shellOf(home), PATH: `${home}:/usr/bin:/bin` };
    writeFileSync(join(home, 'kubectl'), '#!/bin/sh\nexit 1\n', { mode: 0o700 });
    writeFileSync(join(home, 'sudo'), '#!/bin/sh\nexit 1\n', { mode: 0o700 });
    for (const command of commands) await t.rejects(run('sh', ['-c', command], { cwd: home, env }), command);
    t.equal(readFileSync(file, 'utf8'), OLD);
    t.equal(statSync(file).mode & 0o777, 0o600);
  }),
);

t.test('with the downloaded kubeconfig kubectl reaches the tenant', { skip: noKubectl }, async (t) => {
  const own = await startReachablePortal(t);
  const folder = dirname(own.stonegate.configFile);
  await visit(
    t,
    async (page) => {
      await signInWithKeystone(page);
      await page.getByText('Use a kubeconfig of its own instead').click();
      const kubeconfig = join(folder, 'downloaded');
      t.equal(await downloadKubeconfig(page, kubeconfig), 'demo.kubeconfig');
      t.notMatch(readFileSync(kubeconfig, 'utf8'), /pass|token|secret/, 'it contains no secret');
      // The authority of Keystone is in the file.
      const { stdout } = await run(
        kubectls.at(-1) ?? '',
        [`--kubeconfig=${kubeconfig}`, 'get', 'configmap', 'settings', '-o', 'jsonpath={.data.owner}'],
        { env: { ...shellOf(folder, ALICE.password), OS_PROJECT_NAME: 'left-by-an-openrc-file' } },
      );
      t.equal(stdout, 'acme');
    },
    own,
  );
});
