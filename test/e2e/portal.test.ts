/**
 * The portal as people see it: in a real browser, with a real OpenID provider and the stand-in Keystone. Screenshots are
 * left in `artefacts/portal`.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { hasChromium, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { pageFaults } from '../support/page/page-checks.ts';
import { type RunningStonegate, startStonegate } from '../support/stonegate.ts';

// A browser on a busy machine takes its time.
t.setTimeout(120_000);

const PICTURES = 'artefacts/portal';
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const PHONE = { width: 375, height: 740 };
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
  const often = { perSecond: 100, burst: 100 };
  const signInLimits = { perSource: often, perUser: often };
  const configuration = { ...others, portal: { signInLimits, ...changes } };
  const stonegate = await startStonegate({ folder: t.testdir(), portal: { port }, configuration });
  t.teardown(() => stonegate.close());
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
mkdirSync(PICTURES, { recursive: true });

/** Opens the start page in a browser of its own; whatever the browser complains about fails the test. */
async function visit(
  t: Test,
  options: BrowserContextOptions,
  act: (page: Page) => Promise<void>,
  { url } = portal,
): Promise<void> {
  if (browser === undefined) throw new Error(NO_CHROMIUM);
  // The certificate is the test's own.
  const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB', ...options });
  try {
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      // A refusal is told to the person, not to the developer; the provider's pages are its own business.
      const ours = message.location().url.startsWith(url);
      if (ours && !/status of [45]\d\d/.test(message.text())) complaints.push(message.text());
    });
    await page.goto(`${url}/`);
    await act(page);
    t.same(complaints, [], 'the browser has nothing to complain about');
  } finally {
    await context.close();
  }
}

async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

async function signInWithKeystone(page: Page, changes: Partial<typeof ALICE> = {}): Promise<void> {
  const { user, password, domain, project } = { ...ALICE, ...changes };
  await page.getByLabel('User name').fill(user);
  await page.getByLabel('Password').fill(password);
  await page.getByLabel('Domain').fill(domain);
  await page.getByLabel('Project').fill(project);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function signInAtProvider(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Continue with Acme' }).click();
  await page.getByLabel('User').fill('carol');
  await page.getByLabel('Password').fill('carol-pass');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Who you are to Kubernetes' }).waitFor();
}

const pathOf = (page: Page) => new URL(page.url()).pathname;

t.test('somebody signs in with Keystone, sees who they are, and signs out', { skip: missing }, (t) =>
  visit(t, {}, async (page) => {
    t.equal(pathOf(page), '/login');
    await picture(page, 'sign-in');
    await signInWithKeystone(page);
    t.equal(pathOf(page), '/');
    const text = await page.textContent('main');
    for (const fact of ['alice', 'acme', 'acme:alice', 'web', 'member', 'batch', 'keystone:project:'])
      t.match(text, fact);
    await picture(page, 'account');
    const cookies = await page.context().cookies();
    t.match(cookies, [
      { name: '__Host-stonegate', httpOnly: true, secure: true, sameSite: 'Lax', path: '/' },
    ]);
    t.equal(cookies.length, 1, 'nothing else is left in the browser');
    await page.getByRole('button', { name: 'Sign out' }).click();
    t.match(await page.textContent('main'), 'You have signed out.');
    t.same(
      await page
        .context()
        .cookies()
        .then((left) => left.filter(({ name }) => name === '__Host-stonegate')),
      [],
    );
    await page.goto(`${portal.url}/`);
    t.equal(pathOf(page), '/login', 'the session is over');
  }),
);

t.test('somebody signs in with an OpenID provider', { skip: missing }, (t) =>
  visit(t, {}, async (page) => {
    await signInAtProvider(page);
    const text = await page.textContent('main');
    for (const fact of [
      'oidc:carol@acme.example',
      'signed in with Acme',
      'acme:oidc:carol@acme.example',
      'oidc:developers',
    ])
      t.match(text, fact);
    await picture(page, 'account-oidc');
  }),
);

t.test('a wrong password is told in words, and everything else stays filled in', { skip: missing }, (t) =>
  visit(t, {}, async (page) => {
    await signInWithKeystone(page, { password: 'not-the-password' });
    t.equal(await page.title(), 'Error: Sign in – Stonegate');
    t.match(await page.getByRole('alert').textContent(), /does not accept this/);
    t.equal(
      await page.evaluate('document.activeElement.getAttribute("role")'),
      'alert',
      'it is read out first',
    );
    t.equal(await page.getByLabel('User name').inputValue(), 'alice');
    t.equal(await page.getByLabel('Password').inputValue(), '');
    t.same(await pageFaults(page), []);
    await picture(page, 'wrong-password');
    await signInWithKeystone(page);
    t.equal(pathOf(page), '/', 'the second try counts');
  }),
);

t.test('a provider that refuses is quoted', { skip: missing }, (t) =>
  visit(t, {}, async (page) => {
    await page.getByRole('link', { name: 'Continue with Acme' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    const text = await page.textContent('main');
    t.match(text, 'Acme did not sign you in');
    t.match(text, 'the person said no');
    t.same(await pageFaults(page), []);
    await picture(page, 'provider-refuses');
    await page.getByRole('link', { name: 'Sign in again' }).click();
    t.equal(pathOf(page), '/login');
  }),
);

t.test('a session ends by itself, and the page says so', { skip: missing }, async (t) => {
  const hasty = await startPortal(t, { sessionLifetime: '2s' });
  await visit(
    t,
    {},
    async (page) => {
      await signInWithKeystone(page);
      t.equal(pathOf(page), '/');
      await eventually(async () => {
        await page.goto(`${hasty.url}/`);
        return pathOf(page) === '/login';
      });
      t.match(await page.textContent('main'), 'Your session has ended. Sign in again.');
      await picture(page, 'session-ended');
      await signInWithKeystone(page);
      t.equal(pathOf(page), '/', 'and a new one begins');
    },
    hasty,
  );
});

for (const colorScheme of ['light', 'dark'] as const) {
  for (const [device, viewport] of [
    ['desk', { width: 1_100, height: 800 }],
    ['phone', PHONE],
  ] as const) {
    t.test(
      `on a ${device}, ${colorScheme}: readable, whole, and with names for everything`,
      { skip: missing },
      (t) =>
        visit(t, { colorScheme, viewport }, async (page) => {
          t.same(await pageFaults(page), []);
          await picture(page, `sign-in-${device}-${colorScheme}`);
          await signInWithKeystone(page);
          await page.getByText('Or add it to the kubeconfig you have').click();
          t.same(await pageFaults(page), []);
          await picture(page, `account-${device}-${colorScheme}`);
        }),
    );
  }
}

t.test('everything works without JavaScript', { skip: missing }, (t) =>
  visit(t, { javaScriptEnabled: false }, async (page) => {
    await signInWithKeystone(page);
    t.match(await page.textContent('main'), 'acme:alice');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signInAtProvider(page);
    t.match(await page.textContent('main'), 'acme:oidc:carol@acme.example');
  }),
);

t.test('everything works by keyboard', { skip: missing }, (t) =>
  visit(t, {}, async (page) => {
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
    await keyboard.press('Tab');
    await keyboard.press('Tab');
    await keyboard.press('Tab');
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Sign out');
    await keyboard.press('Enter');
    await page.getByText('You have signed out.').waitFor();
  }),
);

interface Kubeconfig {
  readonly clusters: readonly unknown[];
  readonly contexts: readonly unknown[];
  readonly users: readonly {
    readonly user: { readonly exec: { command: string; args: string[] } };
  }[];
}

const kubectls = findKubectls();
const noKubectl = missing || (kubectls.length === 0 && NO_KUBECTL);
for (const kubectl of noKubectl === false ? kubectls : ['kubectl']) {
  for (const signIn of [signInWithKeystone, signInAtProvider]) {
    const title = `${signIn.name}: the kubeconfig and the commands say the same to ${basename(kubectl)}`;
    t.test(title, { skip: noKubectl }, (t) =>
      visit(t, {}, async (page) => {
        const [downloaded, configured] = ['downloaded', 'configured'].map((name) =>
          join(t.testdir({}), name),
        );
        const read = (file = ''): Kubeconfig =>
          JSON.parse(
            execFileSync(kubectl, `--kubeconfig=${file} config view --raw --minify -o json`.split(' '), {
              encoding: 'utf8',
            }),
          );
        await signIn(page);
        const downloading = page.waitForEvent('download');
        await page.getByRole('link', { name: 'Download kubeconfig' }).click();
        const download = await downloading;
        t.equal(download.suggestedFilename(), 'demo.kubeconfig');
        await download.saveAs(downloaded ?? '');
        const commands = await page.getByLabel('Commands to set up kubectl').textContent();
        execFileSync('sh', ['-e'], {
          input: (commands ?? '').replaceAll('kubectl', `'${kubectl}' --kubeconfig='${configured}'`),
          stdio: ['pipe', 'ignore', 'inherit'],
        });
        const [wanted, got] = [read(downloaded), read(configured)];
        t.same(got.clusters, wanted.clusters);
        t.same(got.contexts, wanted.contexts);
        for (const part of ['command', 'args'] as const)
          t.same(got.users[0]?.user.exec[part], wanted.users[0]?.user.exec[part]);
        t.notMatch(readFileSync(downloaded ?? '', 'utf8'), /pass|token|secret/, 'there is no secret in it');
      }),
    );
  }
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
    {},
    async (page) => {
      await signInWithKeystone(page);
      const downloading = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Download kubeconfig' }).click();
      const kubeconfig = join(folder, 'downloaded');
      await (await downloading).saveAs(kubeconfig);
      const { stdout } = await promisify(execFile)(
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
