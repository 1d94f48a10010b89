/**
 * The portal's page "What you may do" in a real browser, on a desktop and on a phone. Screenshots are written
 * to `artefacts/portal`.
 */
import { mkdirSync } from 'node:fs';
import type { Page } from 'playwright-core';
import t from 'tap';
import { hasChromium, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { pageFaults } from '../support/page/page-checks.ts';
import { startStonegate } from '../support/stonegate.ts';

const missing = hasChromium() ? false : NO_CHROMIUM;
const PICTURES = 'artefacts/portal';
const VIEWS = [
  ['desktop', { width: 1100, height: 800 }],
  ['phone', { width: 360, height: 740 }],
] as const;

t.setTimeout(180_000);

async function signIn(page: Page): Promise<void> {
  for (const [label, text] of Object.entries({
    'User name': 'alice',
    Password: 'alice-pass',
    Domain: 'acme',
    Project: 'web',
  }))
    await page.getByLabel(label).fill(text);
  await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Sign in' }).click()]);
}

t.test('a user sees what they may do, on a desktop and on a phone', { skip: missing }, async (t) => {
  const port = await freePort();
  const configuration = { access: { index: true, authorizers: ['Node', 'RBAC'] } };
  const stonegate = await startStonegate({ folder: t.testdir(), portal: { port }, configuration });
  t.teardown(() => stonegate.close());
  const url = `https://localhost:${port}`;
  mkdirSync(PICTURES, { recursive: true });
  const browser = await launchChromium();
  t.teardown(() => browser.close());
  for (const [name, viewport] of VIEWS)
    await t.test(name, async (t) => {
      const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB', viewport });
      t.teardown(() => context.close());
      const page = await context.newPage();
      const errors: string[] = [];
      page.on('console', (message) => {
        // Until the index is complete the page is a 503.
        if (message.type() === 'error' && !/status of 503/.test(message.text())) errors.push(message.text());
      });
      await page.goto(`${url}/`);
      await signIn(page);
      await Promise.all([
        page.waitForEvent('load'),
        page.getByRole('link', { name: 'What you may do' }).click(),
      ]);
      await eventually(async () => {
        await page.reload();
        return (await page.textContent('h1')) === 'What you may do';
      });
      const text = await page.textContent('main');
      for (const fact of ['acme:alice', 'Your roles', 'member', 'Kinds and verbs']) t.match(text, fact);
      await page.screenshot({ path: `${PICTURES}/access-${name}.png`, fullPage: true });
      t.same(await pageFaults(page), []);
      const [page_, window_] = await page.evaluate<number[]>(
        '[document.documentElement.scrollWidth, innerWidth]',
      );
      t.ok(Number(page_) <= Number(window_), 'no horizontal scrolling');
      t.same(errors, []);
    });
});
