/**
 * The portal in a real browser, with a real OpenID provider and the stand-in Keystone. Screenshots are
 * written to `artefacts/portal`.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser, Locator, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { hasChromium, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { assertShown, openWindow } from '../support/page/visit-page.ts';
import { type RunningStonegate, startStonegate } from '../support/stonegate.ts';

const run = promisify(execFile);
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const ALICE = { user: 'alice', password: 'alice-pass', domain: 'acme', project: 'web' };

interface Portal {
  readonly url: string;
  readonly stonegate: RunningStonegate;
}

async function startPortal(
  t: Test,
  changes: object = {},
  others: Record<string, object> = {},
): Promise<Portal> {
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

const launched = (): Browser => {
  if (browser === undefined) throw new Error(NO_CHROMIUM);
  return browser;
};

/** Opens the start page in a new window without scripts. Errors in the browser's console fail the test. */
async function visit(t: Test, act: (page: Page) => Promise<void>, { url } = portal): Promise<void> {
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
async function follow(page: Page, locator: Locator): Promise<void> {
  await Promise.all([page.waitForEvent('load'), locator.click()]);
}

/** Clicks the link to the kubeconfig and saves the download. */
async function downloadKubeconfig(page: Page, file: string): Promise<string> {
  const link = page.getByRole('link', { name: 'Download kubeconfig' });
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  await download.saveAs(file);
  return download.suggestedFilename();
}

async function signInWithKeystone(page: Page, changes: Partial<typeof ALICE> = {}): Promise<void> {
  const { user, password, domain, project } = { ...ALICE, ...changes };
  await page.getByLabel('User name').fill(user);
  await page.getByLabel('Password').fill(password);
  await page.getByLabel('Domain').fill(domain);
  await page.getByLabel('Project').fill(project);
  await follow(page, page.getByRole('button', { name: 'Sign in' }));
}

async function signInAtProvider(page: Page): Promise<void> {
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
    t.match(text, 'Acme did not sign you in');
    t.match(text, 'the user said no');
    await shown(t, page, 'provider-refuses');
    await follow(page, page.getByRole('link', { name: 'Sign in again' }));
    t.equal(pathOf(page), '/login');
  }),
);

t.test('step 3 follows the choice in step 2', { skip: missing }, (t) =>
  visit(t, async (page) => {
    await signInWithKeystone(page);
    const merge = page.getByLabel('Commands to set up kubectl');
    const [file, context] = ['file', 'context'].map((what) =>
      page.getByLabel(`Commands to try with the ${what}`),
    );
    const shown = async () =>
      Promise.all([merge, file, context].map(async (commands) => (await commands?.isVisible()) ?? false));
    t.same(await shown(), [false, true, false]);
    t.match(await file?.textContent(), 'kubectl --kubeconfig demo.kubeconfig get pods');
    await page.getByLabel('As a file of its own').focus();
    await page.keyboard.press('ArrowDown');
    t.same(await shown(), [true, false, true], 'the choice is changed by keyboard');
    t.match(await context?.textContent(), 'kubectl --context demo-web get pods');
  }),
);

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
    for (const expected of [
      ...['Skip to the content', 'Stonegate', 'Sign out', 'Account', 'kubectl'],
      ...['batch web', 'Switch'],
    ]) {
      await keyboard.press('Tab');
      const reached = await page.evaluate('document.activeElement.textContent.trim().replace(/\\s+/g, " ")');
      t.equal(reached, expected);
      // Selects the project that begins with this letter.
      if (reached === 'batch web') await keyboard.type('b');
    }
    await keyboard.press('Enter');
    await page.getByText('any role on project batch').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).press('Enter');
    await page.getByText('You have signed out.').waitFor();
  }),
);

const kubectls = findKubectls();
const noKubectl = missing || (kubectls.length === 0 && NO_KUBECTL);
for (const kubectl of noKubectl === false ? kubectls : ['kubectl']) {
  for (const signIn of [signInWithKeystone, signInAtProvider]) {
    const title = `${signIn.name}: the page’s commands merge the downloaded kubeconfig, with ${basename(kubectl)}`;
    t.test(title, { skip: noKubectl }, (t) =>
      visit(t, async (page) => {
        const theirs =
          'current-context: old\ncontexts: [{ name: old, context: { cluster: old, user: old } }]\n';
        const folder = t.testdir({ '.kube': { config: theirs } });
        const downloaded = join(folder, 'demo.kubeconfig');
        // Not synchronous: the servers run in this process.
        const read = async (file: string): Promise<Kubeconfig> => {
          const view = `--kubeconfig=${file} config view --raw -o json`;
          return JSON.parse((await run(kubectl, view.split(' '))).stdout);
        };
        await signIn(page);
        await page.getByLabel('Added to the kubeconfig that I have').check();
        t.equal(await downloadKubeconfig(page, downloaded), 'demo.kubeconfig');
        t.notMatch(readFileSync(downloaded, 'utf8'), /pass|token|secret/, 'it contains no secret');
        const commands = (await page.getByLabel('Commands to set up kubectl').textContent()) ?? '';
        const script = commands.replaceAll('kubectl', `'${kubectl}'`);
        await run('sh', ['-e', '-c', script], { cwd: folder, env: { ...process.env, HOME: folder } });
        const [added, merged] = [await read(downloaded), await read(join(folder, '.kube', 'config'))];
        t.equal(merged['current-context'], 'old');
        t.same(merged.clusters, added.clusters);
        t.same(merged.users, added.users);
        t.same(names(merged.contexts), [...names(added.contexts), 'old'].sort());
        const [first = ''] = ((await page.getByLabel('with the context').textContent()) ?? '').split('\n');
        t.equal(first, `kubectl --context ${added['current-context']} auth whoami`);
      }),
    );
  }
}

interface Kubeconfig {
  readonly 'current-context': string;
  readonly clusters: readonly unknown[];
  readonly users: readonly unknown[];
  readonly contexts: readonly { readonly name: string }[];
}

function names(entries: readonly { readonly name: string }[]): string[] {
  return entries.map(({ name }) => name).sort();
}

t.test('with the downloaded kubeconfig kubectl reaches the tenant', { skip: noKubectl }, async (t) => {
  const apiPort = await freePort();
  const own = await startPortal(
    t,
    { kubernetes: { server: `https://127.0.0.1:${apiPort}`, caFile: 'ca.crt' } },
    { server: { bind: `127.0.0.1:${apiPort}` } },
  );
  const folder = dirname(own.stonegate.configFile);
  writeFileSync(join(folder, 'stonegate'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, {
    mode: 0o700,
  });
  await visit(
    t,
    async (page) => {
      await signInWithKeystone(page);
      const kubeconfig = join(folder, 'downloaded');
      await downloadKubeconfig(page, kubeconfig);
      const { stdout } = await run(
        kubectls.at(-1) ?? '',
        [`--kubeconfig=${kubeconfig}`, 'get', 'configmap', 'settings', '-o', 'jsonpath={.data.owner}'],
        {
          env: {
            HOME: folder,
            PATH: `${folder}:${process.env.PATH}`,
            OS_PASSWORD: ALICE.password,
            OS_CACERT: join(folder, 'ca.crt'),
            OS_PROJECT_NAME: 'left-by-an-openrc-file',
          },
        },
      );
      t.equal(stdout, 'acme');
    },
    own,
  );
});
