/**
 * The portal's page of access tokens in a real browser without scripts, in front of a real kube-apiserver.
 * Screenshots are written to `artefacts/portal`.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { parse } from 'yaml';
import { hasChromium, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { missingControllers } from '../support/kubernetes/programs.ts';
import { startTokenSite } from '../support/kubernetes/token-site.ts';
import { assertShown, openWindow, press, signInAs } from '../support/page/visit-page.ts';

const missing = hasChromium() ? missingControllers() : NO_CHROMIUM;
const PODS = '/api/v1/namespaces/web/pods';

t.test('access tokens at the portal', { skip: missing }, async (t) => {
  const port = await freePort();
  const { stonegate, testbed, letWork, make, revoke } = await startTokenSite(t, { portal: { port } });
  await letWork('web', 'acme:alice');
  const browser = await launchChromium();
  t.teardown(() => browser.close());
  const page = await openWindow(t, browser);
  await page.goto(`https://localhost:${port}/tokens`);
  await signInAs(page, 'alice');
  t.equal(new URL(page.url()).pathname, '/tokens', 'the user is back at the requested page');
  const answers = async (secret: string) => (await stonegate.ask(secret, PODS)).status;
  const shownSecret = () => page.getByRole('region', { name: 'The token', exact: true }).textContent();
  let secret = '';

  await t.test('a token is made by keyboard alone, and its secret is shown once', async (t) => {
    await assertShown(t, browser, 'tokens-none', await page.content());
    await page.getByLabel('What is it for?').focus();
    await page.keyboard.type('the nightly report');
    await page.keyboard.press('Tab');
    t.ok(await page.getByRole('radio', { name: /^Read/ }).isChecked(), 'the smallest scope is preselected');
    for (const key of ['Tab', 'Tab']) await page.keyboard.press(key);
    t.equal(await page.evaluate('document.activeElement.value'), 'web', 'a namespace that the user sees');
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: 'Create, and show the token' }).focus();
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
    secret = (await shownSecret()) ?? '';
    t.match(secret, /^sgt_\w{46}$/);
    t.equal(page.url(), `https://localhost:${port}/tokens`);
    await assertShown(t, browser, 'tokens-made', await page.content());
    await eventually(async () => (await answers(secret)) === 200);
    await page.reload();
    t.notMatch(await page.content(), secret);
    t.match(await page.textContent('table'), /the nightly report.*namespace\/web\/read.*active/s);
  });

  await t.test('a mistake is reported, and what was entered stays', async (t) => {
    await page.getByLabel('What is it for?').fill('a mistake');
    await page.getByRole('radio', { name: /^Edit/ }).check();
    await page.getByText('More rights, with which').click();
    await page.getByRole('checkbox', { name: /^\+exec/ }).check();
    await press(page, 'Create, and show the token');
    t.match(await page.title(), /^Error: /);
    t.match(await page.getByRole('alert').textContent(), 'Choose the namespaces');
    t.equal(await page.getByLabel('What is it for?').inputValue(), 'a mistake');
    t.ok(await page.getByRole('radio', { name: /^Edit/ }).isChecked());
    t.ok(await page.getByRole('checkbox', { name: /^\+exec/ }).isChecked());
    await assertShown(t, browser, 'tokens-mistake', await page.content());
  });

  await t.test('rotating gives another secret, and revoking ends the token', async (t) => {
    const { name } = await make(testbed.keystoneToken('alice'), 'tenant/edit', '+secrets');
    await revoke(testbed.keystoneToken('alice'), name);
    await page.goto(`https://localhost:${port}/tokens`);
    await page.getByText('Rotate or revoke').click();
    await press(page, /^Rotate /);
    const second = (await shownSecret()) ?? '';
    t.not(second, secret);
    await eventually(async () => (await answers(second)) === 200);
    t.equal(await answers(secret), 200, 'the previous secret stays valid for a while');
    await page.getByText('Rotate or revoke').click();
    await press(page, /^Revoke /);
    t.match(await page.getByRole('status').textContent(), 'is revoked');
    await eventually(async () => (await answers(second)) === 401);
    await page.reload();
    await assertShown(t, browser, 'tokens-ended', await page.content());
  });

  await t.test('a kubeconfig with a token is one click, and its token works', async (t) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download kubeconfig with a token' }).click(),
    ]);
    const file = `${t.testdir()}/kubeconfig`;
    await download.saveAs(file);
    t.match(download.suggestedFilename(), /^demo-\w{8}\.kubeconfig$/);
    const { users } = parse(readFileSync(file, 'utf8'));
    const { token } = users[0].user;
    await eventually(async () => (await answers(token)) === 200);
    await page.reload();
    t.match(await page.getByRole('status').textContent(), /is created\. It ends on .*in 24 hours/);
    t.notMatch(await page.content(), token);
  });

  await t.test('a token that may do everything ends sooner than requested', async (t) => {
    await page.getByRole('radio', { name: /^All that you may do/ }).check();
    t.notOk(
      await page.getByText('In the whole tenant').isVisible(),
      'the form no longer asks where the token applies',
    );
    await page.getByLabel('For how many days?').fill('30');
    await press(page, 'Create, and show the token');
    t.match(await page.textContent('table'), 'session');
    t.match(await page.getByRole('status').textContent(), /It ends on \d+ \w+ 20\d\d at/);
  });
});
